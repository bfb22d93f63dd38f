/* SPDX-License-Identifier: Apache-2.0
 *
 * overlay_table - see overlay_table.h.
 */
#include "p9/overlay/overlay_table.h"

bool overlay_run(struct overlay *overlay, const char *sql)
{
    return sqlite3_exec(overlay->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

bool overlay_read_number(struct overlay *overlay, const char *name,
                         int64_t *ret_value)
{
    sqlite3_stmt *statement;
    bool ok = sqlite3_prepare_v2(overlay->db,
                                 "SELECT value FROM meta WHERE name = ?", -1,
                                 &statement, NULL) == SQLITE_OK &&
              sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC) ==
                  SQLITE_OK &&
              sqlite3_step(statement) == SQLITE_ROW;

    if (ok)
        *ret_value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return ok;
}
