/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_base - what all of an undo log is built on: its entries, numbers and
 * folders.
 *
 * Threads: all calls under the engine's locks.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_BASE_H
#define INTERCEPTOR_LOG_UNDO_LOG_BASE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct own;

enum { UNDO_LOG_FORMAT = 1 };

struct undo_log;

struct undo_log_entry {
    int64_t id, seq;
    int64_t copied;   /* bytes of content and records that the log wrote */
    int64_t moved;    /* bytes that the removed inodes which it holds occupy */
    bool unprotected; /* it cannot be taken back: a wall */
    bool unchanged;   /* nothing but times differs from before it */
    bool damaged;     /* its record cannot be read */
};

/* The name of a step's folder, or of one below damaged/. */
struct undo_log_name {
    char text[24];
};

/* These are used up. */
void undo_log_use(struct undo_log *log, int64_t id, int64_t seq);

/* A committed step's id and seq: newest last. Borrowed; valid until the next
 * change. */
const struct undo_log_entry *undo_log_entries(struct undo_log *log,
                                              size_t *ret_count);
bool undo_log_has(struct undo_log *log, int64_t id);
int64_t undo_log_last_id(struct undo_log *log);  /* greatest ever used, >= 0 */
int64_t undo_log_least_id(struct undo_log *log); /* least ever used, <= 0 */
int64_t undo_log_next_seq(struct undo_log *log);
int64_t undo_log_last_seq(struct undo_log *log); /* of the newest step */

/* What undo itself has changed since. Borrowed. */
struct own *undo_log_own(struct undo_log *log);

/* Is there something in wal/in_progress? Its folder, opened: the caller's. */
int undo_log_open_wal(struct undo_log *log);

/* Device of the log's folder. */
dev_t undo_log_dev(struct undo_log *log);

/* With sync, a step's move from one place to another is on disk when the call
 * returns. */
void undo_log_set_sync(struct undo_log *log, bool sync);

/* fsync(2) of wal/ and steps/; the first time syncfs(2) too, for what the log
 * consists of and the folders it is in. 0 or -errno. */
int undo_log_sync_folders(struct undo_log *log);

/* Return whether wal/inverse exists, maybe. */
bool undo_log_has_inverse(struct undo_log *log);

/* ---- for the files of undo_log ------------------------------------------- */

/* An id as the name of a folder. */
struct undo_log_name undo_log_name(int64_t id);

/* Write a file of the log's folder anew. 0 or -errno. */
int undo_log_write_text(struct undo_log *log, const char *name,
                        const char *text);

/* Sort the entries by their seq. */
void undo_log_sort(struct undo_log *log);

/* Make the folder if there is none, and open it: the caller's fd. */
int undo_log_open_subdir(int dirfd, const char *name);

#endif
