/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_acts - see crash_acts.h.
 */
#include "tests/crash_acts.h"

#include "common/errors.h"
#include "interceptor/engine.h"

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

/* What the agent may do when a step met an error: take it back, go on and
 * complete it, or end. */
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
        abort_step(c);
    }
    if (!c->step_is_open)
        crash_close(c);
}

/* An abort that failed is finished by a rollback. */
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

static void run_rollback(struct crash *c)
{
    if (!crash_open(c))
        return;
    if (crash_roll_back(c, c->act->before - c->act->after))
        crash_close(c);
}

/* An error may have kept the engine from noting what it restored; then it
 * takes that for an edit from outside, and wants force. */
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
    ic_redo(engine(c), c->act->after - c->act->before, false, &result, &error);
    ic_rollback_result_free(result);
    if (crash_check_error(c, "redo", error))
        crash_close(c);
}

/* ---- forgetting ---------------------------------------------------------- */

static bool configure(struct crash *c, const struct ic_limits *limits)
{
    g_autoptr(GError) error = NULL;

    ic_configure(engine(c), limits, &error);
    return crash_check_error(c, "setting limits", error);
}

/* What is forgotten may be removed by a thread. */
static void finish_removal(struct crash *c)
{
    undo_log_drain_trash(engine(c)->log);
    crash_close(c);
}

/* The step is one too many; the oldest goes when it is committed. */
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

/* Room for what the steps have copied that are to stay. */
static void evict_by_size(struct crash *c)
{
    struct ic_limits limits = { .max_log_size = 0 };
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(engine(c)->log,
                                                            &count);

    for (size_t i = c->act->forgets; i < count; i++)
        limits.max_log_size += entries[i].copied;
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

/* An eviction that failed is made up for when the next is due. */
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

/* The log is made one of another version first, on the side. */
static void run_discard_other(struct crash *c)
{
    g_autofree char *path = g_build_filename(c->w->undo_dir, "version", NULL);

    g_assert_true(g_file_set_contents(path, "other\n", -1, NULL));
    run_discard(c);
}

/* What an error stopped is done by doing it again. */
static void go_on_discard(struct crash *c, unsigned way)
{
    if (!engine(c) || way == 2)
        return;
    if (way == 0)
        discard(c);
    crash_close(c);
}

/* ---- all of them --------------------------------------------------------- */

const struct crash_act crash_acts[] = {
    { "first-step", 0, 1, 0, 0, false, run_step, go_on_step },
    { "second-step", 1, 2, 0, 0, false, run_step, go_on_step },
    { "third-step", 2, 3, 0, 0, false, run_step, go_on_step },
    { "ambient-step", 0, 1, 0, 0, false, run_ambient, NULL },
    { "abort", 2, 2, 0, 0, false, run_abort, go_on_abort },
    { "rollback-first", 1, 0, 0, 0, false, run_rollback, go_on_rollback },
    { "rollback-second", 2, 1, 0, 0, false, run_rollback, go_on_rollback },
    { "rollback-third", 3, 2, 0, 0, false, run_rollback, go_on_rollback },
    { "rollback-all", 3, 0, 0, 0, false, run_rollback, go_on_rollback },
    { "redo-first", 0, 1, 1, 0, false, run_redo, NULL },
    { "redo-third", 2, 3, 1, 0, false, run_redo, NULL },
    { "redo-all", 0, 3, 3, 0, false, run_redo, NULL },
    { "evict-by-step", 2, 3, 0, 1, false, run_evicting_step, go_on_step },
    { "evict-by-count", 3, 3, 0, 2, false, run_evict_count, go_on_evict },
    { "evict-by-size", 3, 3, 0, 2, false, run_evict_size, go_on_evict },
    { "evict-beside-redo", 2, 2, 1, 1, false, run_evict_count, go_on_evict },
    { "discard", 3, 3, 0, 3, false, run_discard, go_on_discard },
    { "discard-redo", 2, 2, 1, 2, false, run_discard, go_on_discard },
    { "discard-other", 3, 3, 0, 3, true, run_discard_other, go_on_discard },
};
const size_t crash_acts_count = G_N_ELEMENTS(crash_acts);
