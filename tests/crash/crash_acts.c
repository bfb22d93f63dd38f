/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_acts - see crash_acts.h.
 */
#include "tests/crash/crash_acts.h"

#include <fcntl.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/engine/engine.h"
#include "interceptor/log/pack.h"
#include "interceptor/log/step.h"
#include "interceptor/sys/sys.h"

/* ---- steps --------------------------------------------------------------- */

static struct ic *engine(struct crash *c)
{
    return world_folder_ic(c->w);
}

static void run_step(struct crash *c)
{
    if (!crash_open(c))
        return;
    if (crash_open_step(c)) {
        crash_change(c, c->act->before);
        crash_close_step(c);
    }
    if (!c->step_is_open)
        crash_close(c);
}

static bool abort_step(struct crash *c)
{
    g_autoptr(GError) error = NULL;

    ic_step_abort(engine(c), c->shared->id, &error);
    if (!crash_check_error(c, "aborting the step", error))
        return false;
    c->step_is_open = false;
    return true;
}

/* An agent may react to an error in a step in these ways: abort it, continue
 * and complete it, or exit. */
static void go_on_step(struct crash *c, unsigned way)
{
    if (!engine(c) || !c->step_is_open || way == 2)
        return;
    if (way == 0)
        abort_step(c);
    else
        crash_close_step(c);
    crash_close(c);
}

static void run_abort(struct crash *c)
{
    if (!crash_open(c))
        return;
    if (crash_open_step(c)) {
        crash_change(c, c->act->before);
        crash_fill(c);
        abort_step(c);
    }
    if (!c->step_is_open)
        crash_close(c);
}

/* An abort that failed is completed by a rollback. */
static void go_on_abort(struct crash *c, unsigned way)
{
    if (!engine(c) || !c->step_is_open || way == 2)
        return;
    crash_roll_back(c, 1);
    crash_close(c);
}

static void run_ambient(struct crash *c)
{
    if (!crash_open(c))
        return;
    crash_change(c, c->act->before);
    crash_close_ambient(c);
}

/* The step is committed, and continues. After an error it may start anew
 * instead, which the rig does not expect, so only kills are tried. */
static void run_ambient_again(struct crash *c)
{
    const struct ic_setattr attr = { .valid = IC_SET_MTIME,
                                     .mtime = { .tv_sec = 1 } };
    struct ic_rollback_result *result;
    g_autoptr(GError) error = NULL;
    int rc;

    if (!crash_open(c))
        return;
    crash_change(c, c->act->before);
    ic_preview(engine(c), 1, false, &result, &error);
    ic_rollback_result_free(result);
    if (crash_check_error(c, "preview", error) && !c->errors) {
        rc = ic_setattr(engine(c), ic_root(engine(c)), -1, &attr, NULL);
        if (rc < 0 && !(c->errors && c->shared->board.fired))
            crash_trouble(c, "setting a time: %s", g_strerror(-rc));
    }
    crash_close_ambient(c);
}

static void run_rollback(struct crash *c)
{
    if (!crash_open(c))
        return;
    crash_fill(c);
    if (crash_roll_back(c, c->act->before - c->act->after))
        crash_close(c);
}

/* An error may have kept the engine from recording what it restored; it then
 * takes that for an outside edit, and needs force. */
static void go_on_rollback(struct crash *c, unsigned way)
{
    g_autoptr(GError) error = NULL;

    if (!engine(c) || way == 2)
        return;
    if (!ic_rollback(engine(c), 1, false, NULL, &error) &&
        g_error_matches(error, STEPBACK_ERROR, ERROR_UNDO_BARRIER))
        crash_roll_back_forced(c, 1);
    else
        crash_check_error(c, "rollback", error);
    crash_close(c);
}

static void run_redo(struct crash *c)
{
    struct ic_rollback_result *result;
    g_autoptr(GError) error = NULL;

    if (!crash_open(c))
        return;
    crash_fill(c);
    ic_redo(engine(c), c->act->after - c->act->before, false, &result, &error);
    ic_rollback_result_free(result);
    if (crash_check_error(c, "redo", error))
        crash_close(c);
}

/* Each record is on disk before its object changes. */
static void run_power_step(struct crash *c)
{
    if (!crash_open(c))
        return;
    ic_set_durability(engine(c), IC_DURABILITY_POWER);
    if (crash_open_step(c)) {
        crash_change(c, c->act->before);
        crash_close_step(c);
    }
    if (!c->step_is_open)
        crash_close(c);
}

/* As the thread does with each step's content after the commit. */
static void run_compress(struct crash *c)
{
    atomic_bool cancel = false;
    size_t count;
    const struct undo_log_entry *entries;

    if (!crash_open(c))
        return;
    entries = undo_log_entries(engine(c)->log, &count);
    for (size_t i = 0; i < count; i++) {
        fd_auto int step = undo_log_open_step(engine(c)->log, entries[i].id);
        fd_auto int blobs = step < 0 ? step
                                     : sys_openat(step, STEP_BLOBS,
                                                  O_RDONLY | O_DIRECTORY, 0);
        int rc = blobs < 0 ? blobs : pack_compress(blobs, &cancel, true);

        if (rc < 0 && !c->shared->board.fired)
            crash_trouble(c, "compressing: %s", g_strerror(-rc));
    }
    crash_close(c);
}

/* ---- eviction ------------------------------------------------------------ */

static bool configure(struct crash *c, const struct ic_limits *limits)
{
    g_autoptr(GError) error = NULL;

    ic_configure(engine(c), limits, &error);
    return crash_check_error(c, "setting limits", error);
}

/* A thread may remove evicted steps. */
static void finish_removal(struct crash *c)
{
    undo_log_drain_trash(engine(c)->log);
    crash_close(c);
}

/* The step exceeds the limit; the oldest is evicted at the commit. */
static void run_evicting_step(struct crash *c)
{
    struct ic_limits limits = {
        .max_step_count = c->act->after - c->act->forgets,
    };

    if (!crash_open(c) || !configure(c, &limits))
        return;
    if (crash_open_step(c)) {
        crash_change(c, c->act->before);
        crash_close_step(c);
    }
    if (!c->step_is_open)
        finish_removal(c);
}

static void evict_by_count(struct crash *c)
{
    struct ic_limits limits = {
        .max_step_count = c->act->after - c->act->forgets,
    };

    configure(c, &limits);
}

static int64_t size_of(struct crash *c, guint step, const char *name)
{
    g_autofree char *path = g_strdup_printf(
        "%s/steps/%" G_GINT64_FORMAT "/%s", c->w->undo_dir,
        g_array_index(c->ids, gint64, step), name);
    struct stat st;

    return stat(path, &st) == 0 ? st.st_size : 0;
}

/* Set the limit to the copied content of the steps that are to stay; it is
 * measured here, as the fault may spoil the engine's own measurement. */
static void evict_by_size(struct crash *c)
{
    struct ic_limits limits = { .max_log_size = 0 };

    for (guint i = c->act->forgets; i < c->act->before; i++)
        limits.max_log_size += size_of(c, i, STEP_MANIFEST) +
                               size_of(c, i, STEP_BLOBS "/" PACK_NAME) +
                               size_of(c, i, STEP_BLOBS "/" PACK_COMPRESSED);
    configure(c, &limits);
}

static void run_evict_count(struct crash *c)
{
    if (!crash_open(c))
        return;
    evict_by_count(c);
    finish_removal(c);
}

static void run_evict_size(struct crash *c)
{
    if (!crash_open(c))
        return;
    evict_by_size(c);
    finish_removal(c);
}

/* An eviction that failed is made up for when the next one is due. */
static void go_on_evict(struct crash *c, unsigned way)
{
    size_t count;

    if (!engine(c) || way == 2)
        return;
    evict_by_count(c);
    undo_log_entries(engine(c)->log, &count);
    if (count != c->act->after - c->act->forgets)
        crash_trouble(c, "%zu steps are left, though the fault is over", count);
    crash_close(c);
}

static bool discard(struct crash *c)
{
    g_autoptr(GError) error = NULL;

    ic_discard(engine(c), &error);
    return crash_check_error(c, "discarding the log", error);
}

static void run_discard(struct crash *c)
{
    if (crash_open(c) && discard(c))
        finish_removal(c);
}

/* First give the log another version. */
static void run_discard_other(struct crash *c)
{
    g_autofree char *path = g_build_filename(c->w->undo_dir, "version", NULL);

    g_assert_true(g_file_set_contents(path, "other\n", -1, NULL));
    run_discard(c);
}

/* An operation that an error stopped is completed by repeating it. */
static void go_on_discard(struct crash *c, unsigned way)
{
    if (!engine(c) || way == 2)
        return;
    if (way == 0)
        discard(c);
    crash_close(c);
}

/* ---- table --------------------------------------------------------------- */

const struct crash_act crash_acts[] = {
    { "first-step", 0, 1, 0, 0, false, run_step, go_on_step },
    { "second-step", 1, 2, 0, 0, false, run_step, go_on_step },
    { "third-step", 2, 3, 0, 0, false, run_step, go_on_step },
    { "power-step", 1, 2, 0, 0, false, run_power_step, go_on_step },
    { "compress", 3, 3, 0, 0, false, run_compress, NULL },
    { "ambient-step", 0, 1, 0, 0, false, run_ambient, NULL, false, true },
    { "ambient-again", 0, 1, 0, 0, false, run_ambient_again, NULL, false,
      true },
    { "abort", 2, 2, 0, 0, false, run_abort, go_on_abort, true },
    { "rollback-first", 1, 0, 0, 0, false, run_rollback, go_on_rollback, true },
    { "rollback-second", 2, 1, 0, 0, false, run_rollback, go_on_rollback,
      true },
    { "rollback-third", 3, 2, 0, 0, false, run_rollback, go_on_rollback, true },
    { "rollback-all", 3, 0, 0, 0, false, run_rollback, go_on_rollback, true },
    { "redo-first", 0, 1, 1, 0, false, run_redo, NULL, true },
    { "redo-third", 2, 3, 1, 0, false, run_redo, NULL, true },
    { "redo-all", 0, 3, 3, 0, false, run_redo, NULL, true },
    { "evict-by-step", 2, 3, 0, 1, false, run_evicting_step, go_on_step },
    { "evict-by-count", 3, 3, 0, 2, false, run_evict_count, go_on_evict },
    { "evict-by-size", 3, 3, 0, 2, false, run_evict_size, go_on_evict },
    { "evict-beside-redo", 2, 2, 1, 1, false, run_evict_count, go_on_evict },
    { "discard", 3, 3, 0, 3, false, run_discard, go_on_discard },
    { "discard-redo", 2, 2, 1, 2, false, run_discard, go_on_discard },
    { "discard-other", 3, 3, 0, 3, true, run_discard_other, go_on_discard },
};
const size_t crash_acts_count = G_N_ELEMENTS(crash_acts);
