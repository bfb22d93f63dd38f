/* SPDX-License-Identifier: Apache-2.0
 *
 * overlay_table - the database of the overlay, and its copy in memory.
 */
#ifndef P9_OVERLAY_OVERLAY_TABLE_H
#define P9_OVERLAY_OVERLAY_TABLE_H

#include <glib.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    OVERLAY_REFERENCE_SIZE = 16,
    OVERLAY_FEW_ROWS = 1024,    /* below this, no collection */
    OVERLAY_MAX_ROWS = 1 << 20, /* clients choose the content of rows: ENOSPC */
};

struct overlay_row {
    mode_t mode; /* the 12 permission bits */
    uid_t uid;
    gid_t gid;
    bool symlink; /* the file's content is its target */
};

struct overlay {
    pthread_mutex_t inserting; /* guards the database; taken before lock */
    sqlite3 *db;
    sqlite3_stmt *insert;
    int64_t next_warning_us; /* when to warn again that a row was refused */

    pthread_rwlock_t lock; /* guards the tables; held only briefly */
    int64_t number;
    GHashTable *by_id;  /* owned struct overlay_entry, by id */
    GHashTable *by_row; /* the same entries, borrowed, by row */
    atomic_bool has_set_ids, has_symlinks;
};

struct overlay_entry {
    int64_t id;
    struct overlay_row row;
};

/* Return false on failure; sqlite3_errmsg() has the reason. */
bool overlay_run(struct overlay *overlay, const char *sql);
bool overlay_read_number(struct overlay *overlay, const char *name,
                         int64_t *ret_value);

#endif
