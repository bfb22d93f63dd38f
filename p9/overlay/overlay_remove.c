/* SPDX-License-Identifier: Apache-2.0
 *
 * overlay_remove - see overlay_remove.h.
 */
#include "p9/overlay/overlay_remove.h"

#include <errno.h>

#include "common/log.h"

static bool write_number(struct overlay *overlay, const char *name,
                         int64_t value)
{
    g_autofree char *sql = g_strdup_printf("INSERT OR REPLACE INTO meta"
                                           " VALUES('%s', %" G_GINT64_FORMAT
                                           ")",
                                           name, value);

    return overlay_run(overlay, sql);
}

bool overlay_is_of(struct overlay *overlay, ino_t root)
{
    int64_t share;

    if (!overlay_read_number(overlay, "share", &share))
        return write_number(overlay, "share", (int64_t)root);
    if (share == (int64_t)root)
        return true;
    write_number(overlay, "share", 0);
    return false;
}

bool overlay_has_grown(struct overlay *overlay)
{
    int64_t needed = 0, rows = g_hash_table_size(overlay->by_id);

    overlay_read_number(overlay, "needed", &needed);
    return rows >= OVERLAY_FEW_ROWS && rows / 2 >= needed;
}

/* Return the numbers that a query yields, as a set of int64_t *; NULL on
 * failure. */
static GHashTable *read_ids(struct overlay *overlay, const char *sql)
{
    g_autoptr(GHashTable)
        ids = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    sqlite3_stmt *statement;
    int r;

    if (sqlite3_prepare_v2(overlay->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return NULL;
    while ((r = sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(statement, 0);

        g_hash_table_add(ids, g_memdup2(&id, sizeof(id)));
    }
    sqlite3_finalize(statement);
    return r == SQLITE_DONE ? g_steal_pointer(&ids) : NULL;
}

static bool run_with(struct overlay *overlay, const char *sql, int64_t id)
{
    g_autofree char *text = g_strdup_printf("%s(%" G_GINT64_FORMAT ")", sql,
                                            id);

    return overlay_run(overlay, text);
}

/* Remove the rows that were idle before; record the others as idle now. Inside
 * a transaction. */
static bool sort_out(struct overlay *overlay, GHashTable *unneeded,
                     GHashTable *idle)
{
    GHashTableIter iter;
    gpointer id;
    bool ok = overlay_run(overlay, "DELETE FROM idle");

    g_hash_table_iter_init(&iter, unneeded);
    while (ok && g_hash_table_iter_next(&iter, &id, NULL)) {
        if (g_hash_table_contains(idle, id)) {
            ok = run_with(overlay, "DELETE FROM rows WHERE id IN ",
                          *(int64_t *)id);
        } else {
            ok = run_with(overlay, "INSERT INTO idle VALUES", *(int64_t *)id);
            g_hash_table_iter_remove(&iter);
        }
    }
    return ok;
}

static void forget(struct overlay *overlay, GHashTable *removed)
{
    GHashTableIter iter;
    gpointer id;

    g_hash_table_iter_init(&iter, removed);
    while (g_hash_table_iter_next(&iter, &id, NULL)) {
        struct overlay_entry *entry = g_hash_table_lookup(overlay->by_id, id);

        if (entry)
            g_hash_table_remove(overlay->by_row, entry);
        g_hash_table_remove(overlay->by_id, id);
    }
}

static gboolean is_in(gpointer id, gpointer value, gpointer set)
{
    return g_hash_table_contains(set, id);
}

int overlay_remove_unneeded(struct overlay *overlay, GHashTable *needed,
                            unsigned *ret_removed)
{
    g_autoptr(GHashTable) idle = read_ids(overlay, "SELECT id FROM idle");
    /* All rows but the newest (O4). */
    g_autoptr(GHashTable) rows = read_ids(
        overlay, "SELECT id FROM rows WHERE id < (SELECT max(id) FROM rows)");
    unsigned all;

    if (!idle || !rows)
        return -EIO;
    all = g_hash_table_size(rows) + 1;
    g_hash_table_foreach_remove(rows, is_in, needed);
    if (!overlay_run(overlay, "BEGIN IMMEDIATE") ||
        !write_number(overlay, "needed", all - g_hash_table_size(rows)) ||
        !sort_out(overlay, rows, idle) || !overlay_run(overlay, "COMMIT")) {
        log_warn(LOG_FS_BACKEND, "overlay: cannot remove rows: %s",
                 sqlite3_errmsg(overlay->db));
        overlay_run(overlay, "ROLLBACK");
        return -EIO;
    }
    forget(overlay, rows);
    *ret_removed = g_hash_table_size(rows);
    return 0;
}
