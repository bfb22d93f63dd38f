/* SPDX-License-Identifier: Apache-2.0
 *
 * overlay_parts - what the files of overlay share, and nobody else uses.
 */
#ifndef P9_OVERLAY_OVERLAY_PARTS_H
#define P9_OVERLAY_OVERLAY_PARTS_H

#include "p9/overlay/overlay.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

struct overlay {
    pthread_mutex_t inserting; /* the database; taken before lock */
    sqlite3 *db;
    sqlite3_stmt *insert;
    int64_t may_say_us; /* again that there is no row; 0: not said yet */

    pthread_rwlock_t lock; /* the tables; for no longer than that takes */
    int64_t number;
    GHashTable *by_id;  /* owned struct overlay_entry, by id */
    GHashTable *by_row; /* the same, borrowed, by row */
    atomic_bool has_set_ids, has_symlinks;
};

struct overlay_entry {
    int64_t id;
    struct overlay_row row;
};

/* False: sqlite3_errmsg() says why. */
bool overlay_run(struct overlay *overlay, const char *sql);
bool overlay_read_number(struct overlay *overlay, const char *name,
                         int64_t *ret_value);

#endif
