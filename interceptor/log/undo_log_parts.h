/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_parts - an undo log in memory, for the files of undo_log alone.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_PARTS_H
#define INTERCEPTOR_LOG_UNDO_LOG_PARTS_H

#include <fcntl.h>
#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct journal;
struct own;
struct trash;

#define UNDO_LOG_IN_PROGRESS "in_progress"

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
    int64_t beat_ms;    /* between undo_log_beat()s while a step is open; or 0 */
    int64_t noted_beat; /* what the lock file says; -1: not known */
    char *socket;       /* or NULL */
};

#endif
