/* SPDX-License-Identifier: Apache-2.0
 *
 * recover_ambient - see recover_ambient.h.
 */
#include "interceptor/engine/recover_ambient.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/engine/limits.h"
#include "interceptor/engine/outside_note.h"
#include "interceptor/engine/redo_target.h"
#include "interceptor/engine/steps.h"
#include "interceptor/log/barriers.h"
#include "interceptor/log/pack.h"
#include "interceptor/log/step_mark.h"
#include "interceptor/sys/fail.h"
#include "interceptor/sys/sys.h"

/* ---- decision ------------------------------------------------------------ */

/* A rollback of a committed step makes its inverse, or a mark, before it
 * changes anything (redo.h); one of an open step, begun by an earlier version,
 * has a staging folder. */
static int is_being_undone(struct ic *ic, int dir, const struct step *step)
{
    struct redo_target target;
    struct stat st;
    bool found;
    int rc;

    if (step->inverse || step->staging)
        return 1;
    rc = sys_stat_name(dir, STEP_STAGING, &st);
    if (rc != -ENOENT)
        return rc == 0 ? 1 : rc;
    rc = redo_find(ic, step->id, &target);
    if (rc < 0)
        return rc;
    found = target.dir >= 0;
    redo_close(&target);
    return found ? 1 : step_is_marked(dir, STEP_MARK_NO_REDO);
}

/* *ret_step: NULL if the step is not to be kept. Returns 0, or -errno if that
 * cannot be decided now. */
static int load(struct ic *ic, int dir, struct step **ret_step)
{
    g_autoptr(step_auto) step = NULL;
    int rc = step_load(dir, undo_log_alias, ic->log, &step);

    *ret_step = NULL;
    if (rc < 0)
        return undo_log_is_damage(rc) ? 0 : rc;
    if (step->damaged || step->unprotected)
        return 0;
    rc = is_being_undone(ic, dir, step);
    if (rc == 0)
        *ret_step = g_steal_pointer(&step);
    return MIN(rc, 0);
}

/* ---- committing ---------------------------------------------------------- */

static int add_moved(int fd, const struct dirent *entry, void *opaque)
{
    int64_t *bytes = opaque;
    struct stat st;

    if (entry->d_name[0] == 'i' && sys_stat_name(fd, entry->d_name, &st) == 0)
        *bytes += st.st_blocks * 512;
    return 0;
}

/* Return the bytes of the inodes that were moved into the log. */
static int measure_moved(int blobs, int64_t *ret_bytes)
{
    int64_t bytes = 0;
    int rc = sys_dir_each(blobs, ".", add_moved, &bytes);

    *ret_bytes = bytes;
    return rc;
}

/* The step was ended, and only the rename is missing. */
static bool commit_ended(struct ic *ic, const struct step *step, GError **error)
{
    struct undo_log_entry entry = {
        .id = step->id,
        .seq = step->seq,
        .moved = CLAMP(json_integer_value(json_object_get(step->end, "moved")),
                       0, STEP_MAX_NUMBER),
        .unchanged = step_is_unchanged(step),
    };
    int rc = undo_log_commit(ic->log, &entry);

    return rc == 0 || fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
}

/* Make it the open step again, without knowing what it created. Takes ownership
 * of step. */
static int resume(struct ic *ic, struct step *step)
{
    struct wal *wal = &ic->wal;
    int rc = journal_open(wal->dir, STEP_MANIFEST, &step->journal);

    wal->step = step;
    wal->inodes = ic->inodes;
    wal->root = ic->root->fd;
    wal->log_links = ic->log_links;
    wal->limit = limits_of_step(ic);
    wal->sync = atomic_load(&ic->durable.power);
    wal->blobs = sys_openat(wal->dir, STEP_BLOBS,
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (rc < 0 || wal->blobs < 0)
        return rc < 0 ? rc : wal->blobs;
    rc = measure_moved(wal->blobs, &wal->moved);
    if (rc < 0)
        return rc;
    rc = pack_reopen(wal->blobs, &wal->pack);
    return rc == -ENOENT ? 0 : rc;
}

/* Return a barrier for changes after the kill, or for edits before it that the
 * history lacks and of which only the fact is known. NULL: none. */
static struct ic_barrier *find_foreign(struct ic *ic, int dir,
                                       struct step *step)
{
    g_autoptr(survey_auto) survey = NULL;
    struct ic_barrier *barrier = NULL;

    if (survey_make(step, ic->root->fd, false, &survey) == 0)
        barrier = outside_find_late(ic, survey);
    if (step_is_marked(dir, STEP_MARK_FOREIGN) != 0) {
        if (!barrier)
            barrier = barrier_new(g_get_real_time(), false);
        barrier->more++;
    }
    return barrier;
}

static bool commit_open(struct ic *ic, struct step *step, GError **error)
{
    struct ic_barrier *foreign = find_foreign(ic, ic->wal.dir, step);
    int rc = resume(ic, step);
    bool ok;

    if (rc == 0)
        ok = steps_commit_locked(ic, -1, NULL, error);
    else
        ok = fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    capture_clear(&ic->wal);
    if (!foreign)
        return ok;
    if (ok) {
        outside_tell(ic, foreign);
        outside_keep(ic, foreign);
    } else {
        ic_barrier_free(foreign);
    }
    return ok;
}

bool recover_keep_ambient(struct ic *ic, int dir, const struct step *summary,
                          bool *ret_kept, GError **error)
{
    g_autoptr(step_auto) step = NULL;
    int rc;

    *ret_kept = false;
    if (summary->type != IC_STEP_AMBIENT)
        return true;
    rc = load(ic, dir, &step);
    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    if (!step)
        return true;
    *ret_kept = true;
    if (step->end)
        return commit_ended(ic, step, error);
    ic->wal.dir = sys_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
    if (ic->wal.dir < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", ic->wal.dir);
    undo_log_release_reserve(ic->log); /* the disk may be full */
    if (!commit_open(ic, g_steal_pointer(&step), error))
        return false;
    log_info(LOG_UNDO, "kept the changes made outside of steps before a kill");
    return true;
}
