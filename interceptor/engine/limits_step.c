/* SPDX-License-Identifier: Apache-2.0
 *
 * limits_step - see limits_step.h.
 */
#include "interceptor/engine/limits_step.h"

#include <errno.h>
#include <inttypes.h>

#include "common/json_bytes.h"
#include "common/log.h"
#include "interceptor/engine/ambient.h"
#include "interceptor/engine/durable.h"
#include "interceptor/engine/limits.h"
#include "interceptor/engine/restoring.h"

/* The least amount by which a step's limit is raised. */
#define LEAST_MORE (INT64_C(16) << 20)

/* Raise the open step's limit. False: it cannot be raised. */
static bool extend(struct ic *ic)
{
    int64_t base = limits_of_step(ic);
    int64_t excess = MAX(0, capture_copied(&ic->wal) - base);
    int64_t share = base == INT64_MAX ? 0 : limits_free_share(ic, excess);

    if (base + share < ic->wal.limit + LEAST_MORE)
        return false;
    ic->wal.limit = base + share;
    log_info(LOG_UNDO,
             "step %" PRId64 " may copy up to %" PRId64
             " bytes, since the disk has room",
             ic->wal.step->id, (int64_t)ic->wal.limit);
    return true;
}

int limits_check_step(struct ic *ic)
{
    ic->wal.before = capture_copied(&ic->wal);
    if (ic->wal.before <= ic->wal.limit)
        return 0;
    if (!ambient_can_split(ic) && extend(ic))
        return 0;
    return limits_unprotect(ic, 0, 0);
}

/* Return "64.0 KiB", a new string; g_format_size() uses no-break spaces. */
static char *format_size(int64_t bytes)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    double size = (double)bytes;
    size_t unit = 0;

    while (size >= 1024 && unit + 1 < G_N_ELEMENTS(units)) {
        size /= 1024;
        unit++;
    }
    return g_strdup_printf("%.*f %s", unit > 0, size, units[unit]);
}

/* ino: of the file that was too large; 0: the record was. */
static void tell_unprotected(struct ic *ic, int64_t bytes, uint64_t ino,
                             int64_t size)
{
    struct step *step = ic->wal.step;
    struct step_inode *inode = ino ? step_find_inode(step, ino) : NULL;
    g_autofree char *path = inode ? step_path_before(step, inode, NULL) : NULL;
    g_autofree char *shown = path ? g_utf8_make_valid(path, -1) : NULL;
    g_autofree char *limit = format_size(ic->wal.limit);
    g_autofree char *file = format_size(size);
    g_autofree char *text = g_strdup_printf(
        "step %" PRId64 " exceeded the limit of %s%s%s%s%s%s: it and older "
        "steps cannot be undone; newer ones can",
        step->id, limit, shown ? " at " : "", shown ? shown : "",
        shown ? " (" : "", shown ? file : "", shown ? ")" : "");
    json_t *payload = json_pack(
        "{s:s, s:s, s:I, s:I, s:I}", "message", text, "code",
        "step_unprotected", "step_id", (json_int_t)step->id, "bytes",
        (json_int_t)bytes, "limit", (json_int_t)ic->wal.limit);

    if (path) {
        json_object_set_new(payload, "path", json_bytes_path(path));
        json_object_set_new(payload, "size", json_integer(size));
    }
    log_warn(LOG_UNDO, "%s", text);
    events_send(ic->events, "event.warning", payload);
}

int limits_unprotect(struct ic *ic, uint64_t ino, int64_t size)
{
    int64_t bytes = capture_copied(&ic->wal);
    int rc;

    if (atomic_load(&ic->wal.unprotected))
        return 0;
    if (ambient_can_split(ic) || extend(ic))
        return -EXFULL;
    if (restoring_is_set())
        return -EFBIG;
    rc = step_record_unprotected(ic->wal.step, bytes);
    if (rc == 0)
        rc = durable_check_now(ic);
    if (rc < 0)
        return rc;
    atomic_store(&ic->wal.unprotected, true);
    tell_unprotected(ic, bytes, ino, size);
    return 0;
}

int limits_unprotect_unlocked(struct ic *ic, uint64_t ino, int64_t size)
{
    int rc;

    pthread_mutex_lock(&ic->names);
    rc = limits_unprotect(ic, ino, size);
    pthread_mutex_unlock(&ic->names);
    return rc;
}

bool limits_make_room(struct ic *ic, ssize_t rc)
{
    bool again;

    if (durable_again(ic, rc) || ambient_split(ic, rc))
        return true;
    if (rc != -ENOSPC && rc != -EDQUOT)
        return false;
    if (!ic->undo_dir)
        return limits_is_full(ic, rc) && inode_table_wait_freed(ic->inodes);
    pthread_rwlock_wrlock(&ic->gate);
    again = limits_make_room_locked(ic, rc);
    pthread_rwlock_unlock(&ic->gate);
    return again;
}

bool limits_make_room_to_remove(struct ic *ic, ssize_t rc)
{
    bool again;

    if (limits_make_room(ic, rc))
        return true;
    if (rc != -ENOSPC && rc != -EDQUOT)
        return false;
    pthread_rwlock_wrlock(&ic->gate);
    again = ic->log && limits_is_full(ic, rc) &&
            undo_log_release_reserve(ic->log);
    pthread_rwlock_unlock(&ic->gate);
    return again;
}
