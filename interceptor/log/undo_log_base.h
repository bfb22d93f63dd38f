/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_base - the base of an undo log: its entries, numbers and folders.
 *
 * Threads: all calls under the engine's locks.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_BASE_H
#define INTERCEPTOR_LOG_UNDO_LOG_BASE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ctime_ledger;

enum { UNDO_LOG_FORMAT = 1 };

struct undo_log;

struct undo_log_entry {
    int64_t id, seq;
    int64_t copied;   /* bytes of content and records that the log wrote */
    int64_t moved;    /* bytes occupied by the removed inodes that it holds */
    bool unprotected; /* it blocks the undo of itself and older steps */
    bool unchanged;   /* only times differ from before it */
    bool damaged;     /* its record is unreadable */
};

/* The name of a step's folder, or of one below damaged/. */
struct undo_log_name {
    char text[24];
};

/* Mark this id and seq as used. */
void undo_log_use(struct undo_log *log, int64_t id, int64_t seq);

/* Return the committed steps' ids and seqs, newest last. Borrowed; valid until
 * the next change. */
const struct undo_log_entry *undo_log_entries(struct undo_log *log,
                                              size_t *ret_count);
bool undo_log_has(struct undo_log *log, int64_t id);
int64_t
undo_log_last_id(struct undo_log *log); /* greatest id ever used, >= 0 */
int64_t undo_log_least_id(struct undo_log *log); /* least id ever used, <= 0 */
int64_t undo_log_next_seq(struct undo_log *log);
int64_t undo_log_last_seq(struct undo_log *log); /* of the newest step */

/* Return the ctime ledger. Borrowed. */
struct ctime_ledger *undo_log_ctime_ledger(struct undo_log *log);

/* Open wal/in_progress: returns the caller's fd, or -errno if there is none. */
int undo_log_open_wal(struct undo_log *log);

/* Return the device of the log's folder. */
dev_t undo_log_dev(struct undo_log *log);

/* With sync, the move of a step's folder is on disk when the call returns. */
void undo_log_set_sync(struct undo_log *log, bool sync);

/* fsync(2) wal/ and steps/; the first time also syncfs(2), for the rest of the
 * log and its parent folders. Returns 0 or -errno. */
int undo_log_sync_folders(struct undo_log *log);

/* Return whether wal/inverse may exist. */
bool undo_log_has_inverse(struct undo_log *log);

/* ---- for the files of undo_log ------------------------------------------- */

/* Return the folder name for an id. */
struct undo_log_name undo_log_name(int64_t id);

/* Replace a file in the log's folder. Returns 0 or -errno. */
int undo_log_write_text(struct undo_log *log, const char *name,
                        const char *text);

/* Sort the entries by their seq. */
void undo_log_sort(struct undo_log *log);

/* Make the folder if it is missing, and open it: the caller's fd. */
int undo_log_open_subdir(int dirfd, const char *name);

#endif
