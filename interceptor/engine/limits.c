/* SPDX-License-Identifier: Apache-2.0
 *
 * limits - see limits.h.
 */
#include "interceptor/engine/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/statvfs.h>

#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/log.h"

static const struct ic_limits defaults = {
    .max_log_size = INT64_C(1) << 30,
    .max_single_step_size = INT64_C(200) << 20,
    .max_step_count = 100,
};

enum {
    MIN_FREE_PERCENT = 5,
    /* Evict only if the steps hold at least this part of the missing bytes. */
    WORTH_IT = 64,
    /* The part of the free bytes beyond min_free that a step may take. */
    FREE_PART = 4,
};

#define MIN_FREE_MOST (INT64_C(10) << 30)

/* A disk counts as full below this, or below a part of its size. */
#define FULL_BYTES        (INT64_C(64) << 20)
#define NEARLY_FULL_BYTES (INT64_C(1) << 30)
enum { FULL_PART = 16 };

/* Bytes to free at once for a change that found the disk full. */
#define ROOM_BYTES (INT64_C(1) << 20)

/* ---- setting ------------------------------------------------------------- */

static int64_t choose(int64_t wanted, int64_t now, int64_t fallback)
{
    return wanted ? wanted : now ? now : fallback;
}

gboolean limits_set(struct ic *ic, const struct ic_limits *wanted,
                    GError **error)
{
    struct ic_limits *limits = &ic->limits;

    if (wanted->max_log_size < -1 || wanted->max_single_step_size < -1 ||
        wanted->max_step_count < -1 || wanted->min_free < -1) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "a limit must be a number of bytes or steps above "
                            "0, or -1 for none");
        return FALSE;
    }
    if (wanted->max_log_size || wanted->max_single_step_size)
        ic->default_limits = false;
    limits->max_log_size = choose(wanted->max_log_size, limits->max_log_size,
                                  defaults.max_log_size);
    limits->max_single_step_size = choose(wanted->max_single_step_size,
                                          limits->max_single_step_size,
                                          defaults.max_single_step_size);
    limits->max_step_count = choose(wanted->max_step_count,
                                    limits->max_step_count,
                                    defaults.max_step_count);
    /* The default depends on the filesystem. */
    limits->min_free = choose(wanted->min_free, limits->min_free, 0);
    return TRUE;
}

static int64_t min_free(const struct ic *ic, int64_t total)
{
    if (ic->limits.min_free)
        return ic->limits.min_free;
    return MIN(total / 100 * MIN_FREE_PERCENT, MIN_FREE_MOST);
}

/* ---- a step -------------------------------------------------------------- */

/* A step larger than the log's limit would evict all others and then itself; so
 * the log's limit also limits a step. */
int64_t limits_of_step(const struct ic *ic)
{
    int64_t step = ic->limits.max_single_step_size;
    int64_t log = ic->limits.max_log_size;

    if (step < 0 || log < 0)
        return MAX(step, log) < 0 ? INT64_MAX : MAX(step, log);
    return MIN(step, log);
}

/* Bytes beyond the limit that may be charged to the free disk, in addition to
 * the excess that already is. */
int64_t limits_free_share(struct ic *ic, int64_t excess)
{
    int64_t available, total;

    if (!ic->default_limits || !ic->log ||
        undo_log_free_bytes(ic->log, &available, &total) < 0)
        return 0;
    return MAX(0, (available + excess - min_free(ic, total)) / FREE_PART);
}

int64_t limits_of_redo(struct ic *ic)
{
    int64_t most = ic->limits.max_single_step_size;

    return most < 0 ? most : most + limits_free_share(ic, 0);
}

/* ---- eviction ------------------------------------------------------------ */

/* The reason, and the steps. */
struct eviction {
    const char *reason;
    json_t *ids;
    int64_t bytes;
};

static bool evict(struct ic *ic, struct eviction *eviction, const char *reason)
{
    struct undo_log_entry entry;
    int rc = undo_log_evict(ic->log, &entry);

    if (rc < 0) {
        if (rc != -ENOENT)
            log_warn(LOG_UNDO, "cannot evict the oldest step: %s",
                     g_strerror(-rc));
        return false;
    }
    if (!eviction->ids)
        eviction->ids = json_array();
    json_array_append_new(eviction->ids, json_integer(entry.id));
    eviction->reason = reason;
    eviction->bytes += entry.copied + entry.moved;
    return true;
}

static void tell(struct ic *ic, struct eviction *eviction)
{
    size_t count = json_array_size(eviction->ids);
    g_autofree char *text = NULL;

    if (count == 0)
        return;
    text = g_strdup_printf("the undo log exceeded its limits (%s): the oldest "
                           "%zu %s evicted and can no longer be undone",
                           eviction->reason, count,
                           count == 1 ? "step was" : "steps were");
    log_warn(LOG_UNDO, "%s", text);
    events_send(ic->events, "event.warning",
                json_pack("{s:s, s:s, s:s, s:o, s:I}", "message", text, "code",
                          "steps_evicted", "reason", eviction->reason,
                          "step_ids", eviction->ids, "bytes",
                          (json_int_t)eviction->bytes));
}

/* Return the bytes that all steps copied, without those charged to the free
 * disk; *ret_held: everything that they copied and moved, except the newest. */
static int64_t sum(struct ic *ic, int64_t *ret_held)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);
    int64_t most = ic->default_limits ? limits_of_step(ic) : INT64_MAX;
    int64_t copied = 0;

    *ret_held = 0;
    for (size_t i = 0; i < count; i++) {
        copied += MIN(entries[i].copied, most);
        if (i + 1 < count)
            *ret_held += entries[i].copied + entries[i].moved;
    }
    return copied;
}

static void measure_all(struct ic *ic)
{
    size_t count;

    undo_log_entries(ic->log, &count);
    for (size_t i = 0; i < count; i++)
        undo_log_measure(ic->log, i);
}

static size_t count_steps(struct ic *ic)
{
    size_t count;

    undo_log_entries(ic->log, &count);
    return count;
}

/* Count commands and ambient steps separately, so that a background program
 * does not evict commands. */
static bool are_too_many(struct ic *ic, int64_t most)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);
    int64_t ambient = 0;

    for (size_t i = 0; i < count; i++)
        ambient += entries[i].id < 0;
    return most >= 0 && MAX(ambient, (int64_t)count - ambient) > most;
}

static void apply_size(struct ic *ic, struct eviction *eviction)
{
    int64_t most = ic->limits.max_log_size, held;

    if (most < 0 || sum(ic, &held) <= most)
        return;
    measure_all(ic); /* compression may have shrunk some */
    while (sum(ic, &held) > most && evict(ic, eviction, "max_log_size"))
        ;
}

static void apply_free(struct ic *ic, struct eviction *eviction)
{
    int64_t available, total, held;

    if (ic->limits.min_free < 0)
        return;
    while (count_steps(ic) > 1 &&
           undo_log_free_bytes(ic->log, &available, &total) == 0) {
        int64_t missing = min_free(ic, total) - available;

        sum(ic, &held);
        if (missing <= 0 || held < missing / WORTH_IT ||
            !evict(ic, eviction, "min_free"))
            break;
    }
}

void limits_apply_locked(struct ic *ic)
{
    int64_t most = ic->limits.max_step_count;
    struct eviction eviction = { 0 };

    while (are_too_many(ic, most) && evict(ic, &eviction, "max_step_count"))
        ;
    apply_size(ic, &eviction);
    apply_free(ic, &eviction);
    tell(ic, &eviction);
    if (!ic->broken)
        undo_log_maybe_compact(ic->log);
}

/* With the gate write-locked: if the open step is unprotected, drop what it
 * saved so far. True if there was something. */
static bool drop_kept_locked(struct ic *ic)
{
    struct wal *wal = &ic->wal;
    int rc;

    if (!wal->step || !wal->step->unprotected || wal->blobs < 0)
        return false;
    capture_close_blobs(wal);
    rc = undo_log_drop_blobs(ic->log, wal->moved);
    if (rc < 0) /* removed later with the step */
        log_warn(LOG_UNDO, "undo log: %s", g_strerror(-rc));
    wal->moved = 0;
    return rc == 0;
}

/* ---- a full disk --------------------------------------------------------- */

static int free_bytes(struct ic *ic, int64_t *ret_available, int64_t *ret_total)
{
    struct statvfs st;

    if (ic->log)
        return undo_log_free_bytes(ic->log, ret_available, ret_total);
    if (fstatvfs(ic->root->fd, &st) != 0)
        return -errno;
    *ret_available = (int64_t)(st.f_bavail * st.f_frsize);
    *ret_total = (int64_t)(st.f_blocks * st.f_frsize);
    return 0;
}

/* False if the quota of something else is exhausted, or if one change alone
 * asks for more than there can be: eviction would not help. */
bool limits_is_full(struct ic *ic, ssize_t rc)
{
    int64_t available, total;

    if (rc == -EDQUOT)
        return true;
    return free_bytes(ic, &available, &total) == 0 &&
           available < MIN(FULL_BYTES, total / FULL_PART);
}

bool limits_is_nearly_full(struct ic *ic)
{
    int64_t available, total;

    return free_bytes(ic, &available, &total) == 0 &&
           available < MIN(NEARLY_FULL_BYTES, total / FULL_PART);
}

/* Keep the newest step, and steps that hold too little to help: they would be
 * lost, and the disk would still be full. */
bool limits_make_room_locked(struct ic *ic, ssize_t rc)
{
    struct eviction eviction = { 0 };
    int64_t freed = 0, held;

    if ((rc != -ENOSPC && rc != -EDQUOT) || !ic->log || !limits_is_full(ic, rc))
        return false;
    if (drop_kept_locked(ic))
        freed = ROOM_BYTES;
    sum(ic, &held);
    while (held >= ROOM_BYTES && freed + eviction.bytes < ROOM_BYTES &&
           count_steps(ic) > 1 && evict(ic, &eviction, "disk_full"))
        ;
    freed += eviction.bytes;
    tell(ic, &eviction);
    if (freed > 0)
        undo_log_drain_trash(ic->log);
    return freed > 0;
}
