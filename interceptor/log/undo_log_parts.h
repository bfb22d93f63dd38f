/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_parts - an undo log in memory; private to the files of undo_log.
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
struct ctime_ledger;
struct trash;

#define UNDO_LOG_IN_PROGRESS "in_progress"

enum { UNDO_LOG_DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW };

struct undo_log {
    int dir, wal, steps, lock;
    dev_t dev;
    char *other_version; /* NULL: this program's version */
    struct journal *history;
    struct trash *trash;
    bool has_reserve, has_spare, sync;
    atomic_bool on_disk; /* its own files and folders are on disk, with sync */
    bool owes_note;      /* a note of ids is missing from the history */
    int64_t
        compacted; /* size of the history at its last compaction, in bytes */
    struct ctime_ledger *ledger;
    GArray *entries;     /* struct undo_log_entry, by seq */
    GArray *redos;       /* int64_t: seqs, rising */
    bool has_inverse;    /* wal/inverse may exist */
    GHashTable *aliases; /* owned uint64_t from -> GPtrArray of alias */
    GHashTable *given;   /* owned uint64_t to -> GPtrArray of borrowed alias */
    int64_t last_alias;  /* number of the newest alias */
    GPtrArray *barriers;
    GHashTable *seqs; /* owned int64_t id -> owned int64_t seq: "done" notes */
    int64_t last_id, least_id, last_seq;
    int64_t owner_gone, owner_seen, owner_beat; /* see undo_log_owner_gone() */
    int64_t beat_ms;    /* interval of undo_log_beat() while a step is open; or
                         * 0 */
    int64_t noted_beat; /* beat_ms in the lock file; -1: unknown */
    char *socket;       /* or NULL */
};

#endif
