/* SPDX-License-Identifier: Apache-2.0
 *
 * ambient - see ambient.h.
 */
#include "interceptor/engine/ambient.h"

#include <errno.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/engine/ambient_rest.h"
#include "interceptor/engine/durable.h"
#include "interceptor/engine/limits.h"
#include "interceptor/engine/steps.h"
#include "interceptor/report/verify.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/sys.h"

enum {
    SPLIT_PART = 8, /* of the limit: splitting off less gains nothing */
};

/* ---- continuing ---------------------------------------------------------- */

/* Return whether everything is as the step left it, as far as its record says.
 */
static bool is_as_left(struct ic *ic, int64_t id)
{
    fd_auto int dir = undo_log_open_step(ic->log, id);
    g_autoptr(step_auto) step = NULL;
    g_autoptr(GPtrArray) edited = NULL;

    if (dir < 0 || step_load(dir, undo_log_alias, ic->log, &step) < 0 ||
        step->damaged)
        return false;
    edited = verify_step(ic->log, step, ic->root->fd);
    return edited && edited->len == 0;
}

/* Return whether the log has no later entry: no step, outside edit or rollback.
 */
static bool is_newest(struct ic *ic, const struct step *step,
                      struct undo_log_entry *ret_entry)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);

    if (count == 0 || entries[count - 1].id != step->id ||
        entries[count - 1].seq != step->seq ||
        undo_log_last_seq(ic->log) != step->seq)
        return false;
    *ret_entry = entries[count - 1];
    return true;
}

/* Make the step the open one again, and cut off what the commit appended. */
static int reopen(struct ic *ic, const struct undo_log_entry *entry)
{
    struct ambient_rest *rest = &ic->ambient_rest;
    int rc = undo_log_reopen(ic->log, entry->id), back;

    if (rc < 0)
        return rc;
    undo_log_begin_ownership(ic->log);
    durable_forget(ic);
    rc = journal_truncate(rest->wal.step->journal, rest->size);
    if (rc == 0)
        return 0;
    back = undo_log_commit(ic->log, entry);
    return back < 0 ? back : rc;
}

/* Other threads may read the atomic members meanwhile (core_captures()). */
static void take_wal(struct wal *to, struct wal *from)
{
    to->step = from->step;
    to->dir = from->dir;
    to->blobs = from->blobs;
    to->epoch = from->epoch;
    to->last_content = from->last_content;
    to->pack = from->pack;
    to->contents = from->contents;
    atomic_store(&to->no_clones, atomic_load(&from->no_clones));
    atomic_store(&to->unprotected, atomic_load(&from->unprotected));
    atomic_store(&to->limit, atomic_load(&from->limit));
    to->before = from->before;
    to->moved = from->moved;
    atomic_store(&to->n_dropped, atomic_load(&from->n_dropped));
    to->told_fixed = from->told_fixed;
    to->told_rights = from->told_rights;
    to->plain_epoch = from->plain_epoch;
    to->plain_dir = from->plain_dir;
    to->inodes = from->inodes;
    to->root = from->root;
    to->log_links = from->log_links;
    *from = (struct wal){ .dir = -1, .blobs = -1 };
}

int ambient_resume(struct ic *ic)
{
    struct wal *wal = &ic->ambient_rest.wal;
    struct undo_log_entry entry;

    if (!wal->step)
        return 0;
    if (ic->broken || !is_newest(ic, wal->step, &entry) ||
        !is_as_left(ic, entry.id) || reopen(ic, &entry) < 0) {
        ambient_forget(ic);
        return 0;
    }
    take_wal(&ic->wal, wal);
    ic->wal.limit = limits_of_step(ic);
    ic->wal.sync = atomic_load(&ic->durable.power);
    g_ptr_array_set_size(ic->unkept, 0);
    atomic_store(&ic->epoch, ic->wal.epoch);
    return 1;
}

/* ---- ending -------------------------------------------------------------- */

gboolean ambient_close_locked(struct ic *ic, GError **error)
{
    return !ambient_is_open(ic) || steps_commit_locked(ic, -1, NULL, error);
}

void ambient_close_quiet(struct ic *ic)
{
    g_autoptr(GError) error = NULL;

    pthread_rwlock_wrlock(&ic->gate);
    if (clock_ms() - atomic_load(&ic->last_change_ms) >=
            (int64_t)ic->ambient_ms &&
        !ambient_close_locked(ic, &error))
        log_error(LOG_UNDO, "%s", error->message);
    pthread_rwlock_unlock(&ic->gate);
}

bool ambient_can_split(const struct ic *ic)
{
    return ambient_is_open(ic) && !ic->ambient_rest.whole &&
           ic->wal.before > ic->wal.limit / SPLIT_PART;
}

/* 0: there is no step. */
static int64_t newest_seq(struct ic *ic)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);

    return count > 0 ? entries[count - 1].seq : 0;
}

bool ambient_split(struct ic *ic, ssize_t rc)
{
    g_autoptr(GError) error = NULL;

    if (rc != -EXFULL)
        return false;
    pthread_rwlock_wrlock(&ic->gate);
    if (ambient_can_split(ic)) {
        int64_t seq = newest_seq(ic);

        if (!ambient_close_locked(ic, &error))
            log_warn(LOG_UNDO, "%s", error->message);
        /* The step held nothing but this change, and a new one would exceed the
         * limit, too. */
        ic->ambient_rest.whole = newest_seq(ic) == seq;
    }
    ambient_forget(ic);
    pthread_rwlock_unlock(&ic->gate);
    return true;
}

void ambient_close_at_exit(struct ic *ic)
{
    g_autoptr(GError) error = NULL;

    if (ic->wal.step && !ambient_close_locked(ic, &error))
        log_error(LOG_UNDO, "%s", error->message);
    capture_clear(&ic->wal);
    ambient_forget(ic);
}
