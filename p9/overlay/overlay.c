/* SPDX-License-Identifier: Apache-2.0
 *
 * overlay - see overlay.h.
 *
 *     overlay.db    meta(name TEXT, value INTEGER)    format; number; share:
 *                       the inode number of its root, 0: several shares;
 *                       needed: the number of rows in use at the last check
 *                   rows(id, mode, uid, gid, symlink)
 *                   idle(id)    rows that were not needed
 *
 * The database stays locked from opening to closing (locking_mode=EXCLUSIVE):
 * no memory is shared with other processes, and a second server fails at its
 * start.
 */
#include "p9/overlay/overlay.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "common/errors.h"
#include "common/log.h"

enum { FORMAT = 1, ALL_MODE_BITS = 07777 };

#define WARN_INTERVAL_US (60 * G_USEC_PER_SEC)

/* ---- in memory ----------------------------------------------------------- */

static guint row_hash(gconstpointer key)
{
    const struct overlay_row *row = &((const struct overlay_entry *)key)->row;
    uint64_t mixed = ((uint64_t)row->uid << 32 | row->gid) * 0x9e3779b97f4a7c15;

    mixed ^= ((uint64_t)row->mode << 1 | row->symlink) * 0xc2b2ae3d27d4eb4f;
    return (guint)(mixed ^ mixed >> 32);
}

static gboolean row_equal(gconstpointer a, gconstpointer b)
{
    const struct overlay_row *x = &((const struct overlay_entry *)a)->row;
    const struct overlay_row *y = &((const struct overlay_entry *)b)->row;

    return x->mode == y->mode && x->uid == y->uid && x->gid == y->gid &&
           x->symlink == y->symlink;
}

static void note(struct overlay *overlay, int64_t id,
                 const struct overlay_row *row)
{
    struct overlay_entry *entry = g_new(struct overlay_entry, 1);

    entry->id = id;
    entry->row = *row;
    if (row->mode & (S_ISUID | S_ISGID))
        atomic_store(&overlay->has_set_ids, true);
    if (row->symlink)
        atomic_store(&overlay->has_symlinks, true);
    g_hash_table_insert(overlay->by_id, &entry->id, entry);
    g_hash_table_insert(overlay->by_row, entry, entry);
}

bool overlay_has_set_ids(struct overlay *overlay)
{
    return atomic_load(&overlay->has_set_ids);
}

bool overlay_has_symlinks(struct overlay *overlay)
{
    return atomic_load(&overlay->has_symlinks);
}

/* ---- opening ------------------------------------------------------------- */

static gboolean fail(struct overlay *overlay, const char *path, GError **error)
{
    bool busy = sqlite3_errcode(overlay->db) == SQLITE_BUSY;

    g_set_error(
        error, STEPBACK_ERROR, busy ? ERROR_BUSY : ERROR_IO_ERROR, "%s: %s",
        path, busy ? "in use by another server" : sqlite3_errmsg(overlay->db));
    return FALSE;
}

/* FULL: a row is on disk when it is committed (O2), which happens once for each
 * set of metadata. The number is generated here: SQLite's own random source is
 * /dev/urandom, which the sandbox lacks. */
static bool prepare(struct overlay *overlay)
{
    g_autofree char *set_number = NULL;
    int64_t number;

    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return false;
    set_number = g_strdup_printf("INSERT OR IGNORE INTO meta"
                                 " VALUES('number', %" G_GINT64_FORMAT ")",
                                 number);
    return overlay_run(overlay, "PRAGMA locking_mode=EXCLUSIVE") &&
           overlay_run(overlay, "PRAGMA journal_mode=WAL") &&
           overlay_run(overlay, "PRAGMA synchronous=FULL") &&
           overlay_run(overlay, "PRAGMA temp_store=MEMORY") &&
           overlay_run(overlay, "BEGIN IMMEDIATE") &&
           overlay_run(overlay,
                       "CREATE TABLE IF NOT EXISTS"
                       " meta(name TEXT PRIMARY KEY, value INTEGER)") &&
           overlay_run(overlay, "CREATE TABLE IF NOT EXISTS"
                                " rows(id INTEGER PRIMARY KEY, mode INTEGER,"
                                " uid INTEGER, gid INTEGER, symlink INTEGER,"
                                " UNIQUE(mode, uid, gid, symlink))") &&
           overlay_run(overlay, "CREATE TABLE IF NOT EXISTS"
                                " idle(id INTEGER PRIMARY KEY)") &&
           overlay_run(overlay,
                       "INSERT OR IGNORE INTO meta VALUES('format', 1)") &&
           overlay_run(overlay, set_number) && overlay_run(overlay, "COMMIT");
}

/* Load a row; the file's content is untrusted. */
static bool take_row(struct overlay *overlay, sqlite3_stmt *statement)
{
    int64_t value[5];
    struct overlay_row row;

    for (int i = 0; i < 5; i++)
        value[i] = sqlite3_column_int64(statement, i);
    if (value[1] < 0 || value[1] > ALL_MODE_BITS || value[2] < 0 ||
        value[2] > UINT32_MAX || value[3] < 0 || value[3] > UINT32_MAX)
        return false;
    row = (struct overlay_row){ .mode = (mode_t)value[1],
                                .uid = (uid_t)value[2],
                                .gid = (gid_t)value[3],
                                .symlink = value[4] != 0 };
    note(overlay, value[0], &row);
    return true;
}

static bool load(struct overlay *overlay)
{
    sqlite3_stmt *statement;
    unsigned bad = 0;
    int r;

    if (sqlite3_prepare_v2(overlay->db,
                           "SELECT id, mode, uid, gid, symlink FROM rows", -1,
                           &statement, NULL) != SQLITE_OK)
        return false;
    while ((r = sqlite3_step(statement)) == SQLITE_ROW)
        bad += !take_row(overlay, statement);
    sqlite3_finalize(statement);
    if (bad > 0)
        log_warn(LOG_FS_BACKEND, "overlay database: %u malformed rows ignored",
                 bad);
    return r == SQLITE_DONE;
}

static gboolean open_database(struct overlay *overlay, const char *path,
                              GError **error)
{
    int64_t format;

    if (sqlite3_open_v2(path, &overlay->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                            SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        !prepare(overlay) || !overlay_read_number(overlay, "format", &format) ||
        !overlay_read_number(overlay, "number", &overlay->number))
        return fail(overlay, path, error);
    if (format != FORMAT) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "%s: unsupported format %" G_GINT64_FORMAT
                    "; this program supports format %d",
                    path, format, FORMAT);
        return FALSE;
    }
    return (load(overlay) &&
            sqlite3_prepare_v3(overlay->db,
                               "INSERT INTO rows(mode, uid, gid, symlink)"
                               " VALUES(?, ?, ?, ?)",
                               -1, SQLITE_PREPARE_PERSISTENT, &overlay->insert,
                               NULL) == SQLITE_OK) ||
           fail(overlay, path, error);
}

struct overlay *overlay_open(const char *dir, GError **error)
{
    struct overlay *overlay = g_new0(struct overlay, 1);
    g_autofree char *path = g_build_filename(dir, "overlay.db", NULL);

    pthread_mutex_init(&overlay->inserting, NULL);
    pthread_rwlock_init(&overlay->lock, NULL);
    overlay->by_id = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
                                           g_free);
    overlay->by_row = g_hash_table_new(row_hash, row_equal);
    if (!open_database(overlay, path, error)) {
        overlay_close(overlay);
        return NULL;
    }
    log_debug(LOG_FS_BACKEND, "%s: %u rows", path,
              g_hash_table_size(overlay->by_id));
    return overlay;
}

void overlay_close(struct overlay *overlay)
{
    sqlite3_finalize(overlay->insert);
    sqlite3_close(overlay->db);
    g_hash_table_unref(overlay->by_row);
    g_hash_table_unref(overlay->by_id);
    pthread_rwlock_destroy(&overlay->lock);
    pthread_mutex_destroy(&overlay->inserting);
    g_free(overlay);
}

/* ---- references ---------------------------------------------------------- */

struct overlay_reference overlay_make_reference(const struct overlay *overlay,
                                                int64_t id)
{
    uint64_t numbers[2] = { GUINT64_TO_LE((uint64_t)overlay->number),
                            GUINT64_TO_LE((uint64_t)id) };
    struct overlay_reference reference;

    memcpy(reference.bytes, numbers, sizeof(reference.bytes));
    return reference;
}

bool overlay_read_reference(const struct overlay *overlay,
                            const void *reference, size_t size, int64_t *ret_id)
{
    uint64_t numbers[2];

    if (size != OVERLAY_REFERENCE_SIZE)
        return false;
    memcpy(numbers, reference, sizeof(numbers));
    if ((int64_t)GUINT64_FROM_LE(numbers[0]) != overlay->number)
        return false;
    *ret_id = (int64_t)GUINT64_FROM_LE(numbers[1]);
    return true;
}

bool overlay_find(struct overlay *overlay, const void *reference, size_t size,
                  struct overlay_row *ret_row)
{
    const struct overlay_entry *entry;
    int64_t id;

    if (!overlay_read_reference(overlay, reference, size, &id))
        return false;
    pthread_rwlock_rdlock(&overlay->lock);
    entry = g_hash_table_lookup(overlay->by_id, &id);
    if (entry)
        *ret_row = entry->row;
    pthread_rwlock_unlock(&overlay->lock);
    return entry != NULL;
}

/* Find the id of a row in memory. Return false if it is not there. */
static bool find_id(struct overlay *overlay, const struct overlay_entry *key,
                    int64_t *ret_id)
{
    const struct overlay_entry *entry;

    pthread_rwlock_rdlock(&overlay->lock);
    entry = g_hash_table_lookup(overlay->by_row, key);
    if (entry)
        *ret_id = entry->id;
    pthread_rwlock_unlock(&overlay->lock);
    return entry != NULL;
}

/* Warn at once and then rate-limited: a client could fill the log. inserting is
 * held. */
static void warn_refused(struct overlay *overlay)
{
    int64_t now = g_get_monotonic_time();

    if (now < overlay->next_warning_us)
        return;
    log_warn(LOG_FS_BACKEND, "cannot add a row to the overlay database: %s",
             sqlite3_errmsg(overlay->db));
    overlay->next_warning_us = now + WARN_INTERVAL_US;
}

/* inserting is held. */
static int insert(struct overlay *overlay, const struct overlay_row *row,
                  int64_t *ret_id)
{
    sqlite3_stmt *statement = overlay->insert;
    int r;

    if (g_hash_table_size(overlay->by_id) >= OVERLAY_MAX_ROWS)
        return -ENOSPC;
    sqlite3_bind_int64(statement, 1, row->mode);
    sqlite3_bind_int64(statement, 2, row->uid);
    sqlite3_bind_int64(statement, 3, row->gid);
    sqlite3_bind_int(statement, 4, row->symlink);
    sqlite3_step(statement);
    r = sqlite3_reset(statement);
    if (r != SQLITE_OK) {
        warn_refused(overlay);
        return r == SQLITE_FULL ? -ENOSPC : -EIO;
    }
    *ret_id = sqlite3_last_insert_rowid(overlay->db);
    pthread_rwlock_wrlock(&overlay->lock);
    note(overlay, *ret_id, row);
    pthread_rwlock_unlock(&overlay->lock);
    return 0;
}

int overlay_refer(struct overlay *overlay, const struct overlay_row *row,
                  struct overlay_reference *ret_reference)
{
    struct overlay_entry key = { .row = *row };
    int64_t id = 0;
    int r = 0;

    key.row.mode &= ALL_MODE_BITS;
    if (!find_id(overlay, &key, &id)) {
        pthread_mutex_lock(&overlay->inserting);
        if (!find_id(overlay, &key, &id))
            r = insert(overlay, &key.row, &id);
        pthread_mutex_unlock(&overlay->inserting);
    }
    if (r == 0)
        *ret_reference = overlay_make_reference(overlay, id);
    return r;
}
