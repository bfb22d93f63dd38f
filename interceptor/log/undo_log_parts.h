/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_parts - what the files of undo_log share, and nobody else uses.
 *
 * undo_log.c has the steps' folders, undo_log_open.c opening and closing,
 * undo_log_discard.c forgetting all, undo_log_history.c history.jsonl with its
 * aliases, undo_log_redo.c inverse steps, undo_log_trash.c what is being
 * removed.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_PARTS_H
#define INTERCEPTOR_LOG_UNDO_LOG_PARTS_H

#include <fcntl.h>
#include <jansson.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "interceptor/log/undo_log.h"

struct journal;

#define UNDO_LOG_IN_PROGRESS "in_progress"

#define UNDO_LOG_MARKER ".git" /* undo_log_hide.c */

enum { UNDO_LOG_DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW };

struct undo_log {
    int dir, wal, steps, lock;
    dev_t dev;
    char *other_version; /* NULL: it is ours */
    struct journal *history;
    struct trash *trash;
    bool has_reserve, has_spare, sync;
    atomic_bool on_disk; /* its own files and folders, with sync */
    bool owes_note;      /* a note about ids did not get into the history */
    int64_t compacted;   /* bytes of the history when it was last compacted */
    struct own *own;
    GArray *entries;     /* of undo_log_entry, by seq */
    GArray *redos;       /* of int64_t: seqs, rising */
    bool has_inverse;    /* wal/inverse exists, maybe */
    GHashTable *aliases; /* owned uint64_t from -> GPtrArray of alias */
    GHashTable *given;   /* owned uint64_t to -> GPtrArray, borrowed alias */
    int64_t last_alias;  /* number of the last one that was noted */
    GPtrArray *barriers;
    GHashTable *seqs; /* owned int64_t id -> owned int64_t seq: "done" notes */
    int64_t last_id, least_id, last_seq;
    int64_t owner_gone, owner_seen, owner_beat; /* see undo_log_owner_gone() */
};

/* What is in wal/in_progress from here on is ours. */
void undo_log_begin_ownership(struct undo_log *log);

/* An id as the name of a folder. */
struct undo_log_name undo_log_name(int64_t id);

/* Write a file of the log's folder anew. 0 or -errno. */
int undo_log_write_text(struct undo_log *log, const char *name,
                        const char *text);

/* Write the version file. Open wal, steps and the history, which are made if
 * there are none, and read what is there. 0 or -errno. */
int undo_log_write_version(struct undo_log *log);
int undo_log_open_parts(struct undo_log *log, bool *ret_damaged);
void undo_log_close_parts(struct undo_log *log);

#define UNDO_LOG_DISCARDED "discarded"

/* Sort the entries by their seq. */
void undo_log_sort(struct undo_log *log);

/* Make the folder if there is none, and open it: the caller's fd. */
int undo_log_open_subdir(int dirfd, const char *name);

/* Open history.jsonl and read it. 0 or -errno. */
int undo_log_open_history(struct undo_log *log, bool *ret_damaged);
void undo_log_close_history(struct undo_log *log);

/* Write history.jsonl anew without what no step needs any more. 0 or -errno,
 * and it is as it was. */
int undo_log_compact_history(struct undo_log *log);

/* The aliases' part of that: no alias yet, a record that was read, and all that
 * any step needs in the order in which they were noted. 0 or -errno. */
void undo_log_begin_aliases(struct undo_log *log);
void undo_log_forget_aliases(struct undo_log *log);
void undo_log_read_alias(struct undo_log *log, json_t *record);
int undo_log_write_aliases(struct undo_log *log, struct journal *journal);

/* Note what became of a step: "done" or "popped". If that fails, which ids and
 * seqs are used up is noted before the next note. */
int undo_log_append_history(struct undo_log *log, const char *type, int64_t id,
                            int64_t seq);

/* The trash's part of a log. Freeing it ends its thread; what is not removed
 * yet stays for the next start. */
struct trash *undo_log_trash_new(void);
void undo_log_trash_free(struct trash *trash);

/* Rename a step's folder into wal/trash, to be removed. bytes: about what it
 * occupies. 0 or -errno of the rename. */
int undo_log_move_to_trash(struct undo_log *log, int dirfd, const char *name,
                           int64_t bytes);

/* At the start, before anything of the trash is removed: inodes of the share
 * may have links in it (own.h). */
void undo_log_drop_links(struct undo_log *log);
/* A whole log waits in discarded/: it goes to the trash, too. */
int undo_log_trash_discarded(struct undo_log *log);

/* The bytes of what waits in wal/trash. */
int64_t undo_log_trash_bytes(const struct undo_log *log);

/* wal/<name> becomes steps/<entry->id>. */
int undo_log_commit_from(struct undo_log *log, const char *name,
                         const struct undo_log_entry *entry);

/* -EEXIST if the log's folder holds what belongs to no log: a folder with a
 * file "version" in it need not be one. 0 or -errno. */
int undo_log_check_names(struct undo_log *log);

/* wal/inverse, if there is one, becomes dirfd/name, or if that exists, a name
 * made of it. 0 or -errno. */
int undo_log_move_inverse(struct undo_log *log, int dirfd, const char *name);

/* Read the folder redo/. */
int undo_log_find_redos(struct undo_log *log);

#endif
