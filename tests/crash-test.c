/* SPDX-License-Identifier: Apache-2.0
 *
 * crash-test - the engine is killed, or its calls fail, at every point (I3).
 *
 * /crash/kill     SIGKILL before each call that changes something, and after
 *                 half of each write
 * /crash/twice    ... and once more at each point of the recovery
 * /crash/errors   each such call fails: once, or with all that follow; each
 *                 call that looks fails (CR-02, CR-03)
 *
 * Each for every act (below), with the log beside the folder and on another
 * filesystem. STEPBACK_CRASH_STRIDE=N takes every Nth point only, and of the
 * errors, which are many, every 3Nth; STEPBACK_CRASH_SEED=S chooses others.
 * STEPBACK_CRASH_FULL=1 runs all combinations of the errors. Everything takes
 * some ten minutes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/log.h"
#include "tests/crash_rig.h"
#include "tests/crash_trees.h"

enum { MAX_FAILURES = 5 };

/* ---- acts ---------------------------------------------------------------- */

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

static const struct crash_act acts[] = {
    { "first-step", 0, 1, 0, run_step, go_on_step },
    { "second-step", 1, 2, 0, run_step, go_on_step },
    { "third-step", 2, 3, 0, run_step, go_on_step },
    { "ambient-step", 0, 1, 0, run_ambient, NULL },
    { "abort", 2, 2, 0, run_abort, go_on_abort },
    { "rollback-first", 1, 0, 0, run_rollback, go_on_rollback },
    { "rollback-second", 2, 1, 0, run_rollback, go_on_rollback },
    { "rollback-third", 3, 2, 0, run_rollback, go_on_rollback },
    { "rollback-all", 3, 0, 0, run_rollback, go_on_rollback },
    { "redo-first", 0, 1, 1, run_redo, NULL },
    { "redo-third", 2, 3, 1, run_redo, NULL },
    { "redo-all", 0, 3, 3, run_redo, NULL },
};

/* ---- which points -------------------------------------------------------- */

static unsigned number_from(const char *variable, unsigned otherwise)
{
    const char *text = g_getenv(variable);
    unsigned number = text ? (unsigned)strtoul(text, NULL, 10) : 0;

    return number ? number : otherwise;
}

/* The points that a test takes: from the first one, every stride-th. */
struct points {
    unsigned first, stride;
};

static struct points choose_points(unsigned factor)
{
    unsigned stride = number_from("STEPBACK_CRASH_STRIDE", 1);
    unsigned seed = number_from("STEPBACK_CRASH_SEED", 1);

    stride *= stride > 1 ? factor : 1;
    return (struct points){ 1 + seed % stride, stride };
}

static bool goes_on(struct crash *c)
{
    return c->failures < MAX_FAILURES;
}

static bool is_write(const struct crash *c)
{
    return strstr(c->shared->call, "write") ||
           strcmp(c->shared->call, "copy_file_range") == 0;
}

/* A run without a fault; how many points it meets. */
static unsigned measure(struct crash *c)
{
    struct fault_plan none = { .action = FAULT_NONE };

    crash_round(c, &none, 1);
    if (!c->failures)
        g_test_message("%u points, %u looks", c->shared->points,
                       c->shared->looks);
    return c->shared->points;
}

/* ---- kill ---------------------------------------------------------------- */

static void kill_everywhere(struct crash *c)
{
    struct points points = choose_points(1);
    unsigned killed = 0;

    measure(c);
    for (unsigned point = points.first; goes_on(c); point += points.stride) {
        struct fault_plan plan = { FAULT_KILL_BEFORE, point };

        if (!crash_round(c, &plan, 1))
            break;
        killed++;
        plan.action = FAULT_TORN;
        if (is_write(c)) {
            crash_round(c, &plan, 1);
            killed++;
        }
    }
    g_test_message("killed %u times", killed);
}

/* ---- kill again, in the recovery ----------------------------------------- */

static void kill_recovery(struct crash *c, unsigned point)
{
    struct points points = choose_points(2);
    struct fault_plan plans[2] = { { FAULT_KILL_BEFORE, point },
                                   { FAULT_KILL_BEFORE, points.first } };

    while (goes_on(c) && crash_round(c, plans, 2))
        plans[1].point += points.stride;
    g_test_message("killed at %u, then up to %u of the recovery", point,
                   plans[1].point - points.stride);
}

static void kill_pairs(struct crash *c, unsigned points, GRand *rand)
{
    unsigned pairs = 30 / choose_points(1).stride;

    for (unsigned i = 0; i < pairs && goes_on(c); i++) {
        struct fault_plan plans[3] = {
            { FAULT_KILL_BEFORE,
              (unsigned)g_rand_int_range(rand, 1, (gint32)points + 1) },
            { FAULT_KILL_BEFORE, (unsigned)g_rand_int_range(rand, 1, 60) },
            { FAULT_KILL_BEFORE, (unsigned)g_rand_int_range(rand, 1, 60) },
        };

        crash_round(c, plans, 2 + i % 2);
    }
}

static void kill_twice(struct crash *c)
{
    enum { CHOSEN = 3 };
    g_autoptr(GRand)
        rand = g_rand_new_with_seed(number_from("STEPBACK_CRASH_SEED", 1));
    unsigned points = measure(c);

    for (unsigned i = 0; i < CHOSEN && goes_on(c); i++)
        kill_recovery(c, MAX(points * (2 * i + 1) / (2 * CHOSEN), 1));
    if (goes_on(c))
        kill_pairs(c, points, rand);
}

/* ---- errors -------------------------------------------------------------- */

static const struct {
    enum fault_action action;
    int error;
} errors[] = {
    { FAULT_ERRNO, EIO },         { FAULT_ERRNO_FROM, ENOSPC },
    { FAULT_ERRNO, ENOSPC },      { FAULT_TORN_ERRNO, ENOSPC },
    { FAULT_LOOK_ERRNO, EMFILE }, { FAULT_LOOK_ERRNO, EIO },
};

enum { WAYS = 3 };

/* One kind of error at every point. way: how the act goes on; or another one at
 * each point. */
static void fail_with(struct crash *c, size_t kind, unsigned way)
{
    struct points points = choose_points(3);
    unsigned rounds = 0;

    for (unsigned point = points.first; goes_on(c); point += points.stride) {
        struct fault_plan plan = { errors[kind].action, point,
                                   errors[kind].error };

        c->way = way < WAYS ? way
                            : (point / points.stride + (unsigned)kind) % WAYS;
        if (!crash_round(c, &plan, 1))
            break;
        rounds++;
    }
    g_test_message("%s, %d: failed at %u points",
                   g_strerror(errors[kind].error), (int)errors[kind].action,
                   rounds);
}

static void fail_everywhere(struct crash *c)
{
    bool full = g_getenv("STEPBACK_CRASH_FULL") != NULL;

    measure(c);
    for (size_t kind = 0; kind < G_N_ELEMENTS(errors); kind++) {
        for (unsigned way = 0; full && way < WAYS; way++)
            fail_with(c, kind, way);
        if (!full)
            fail_with(c, kind, WAYS);
    }
}

/* ---- all of it ----------------------------------------------------------- */

struct run {
    const struct crash_tree *tree;
    const struct crash_act *act;
    const struct world_backend *backend;
    void (*test)(struct crash *c);
};

static void run_test(gconstpointer data)
{
    const struct run *run = data;
    struct crash *c;

    if (run->backend->log_elsewhere && access("/dev/shm", W_OK) < 0) {
        g_test_skip("there is no /dev/shm");
        return;
    }
    if (run->backend->log_elsewhere && run->act->undone) {
        g_test_skip("what is new cannot move into the log");
        return;
    }
    c = crash_new(run->tree, run->act, run->backend);
    run->test(c);
    crash_free(c);
}

static void add(const char *name, void (*test)(struct crash *c),
                const struct run *common)
{
    struct run *run = g_memdup2(common, sizeof(*common));
    g_autofree char *path = g_strdup_printf("/crash/%s/%s/%s/%s", name,
                                            run->backend->name, run->tree->name,
                                            run->act->name);

    run->test = test;
    g_test_add_data_func_full(path, run, run_test, g_free);
}

int main(int argc, char **argv)
{
    const struct world_backend *backends[] = { &world_folder,
                                               &world_folder_copy };

    umask(022);
    g_test_init(&argc, &argv, NULL);
    log_set_level(g_test_verbose() ? LOG_LEVEL_INFO : LOG_LEVEL_NONE);
    for (size_t i = 0; i < G_N_ELEMENTS(backends); i++) {
        for (size_t j = 0; j < crash_trees_count; j++) {
            for (size_t k = 0; k < G_N_ELEMENTS(acts); k++) {
                struct run run = { &crash_trees[j], &acts[k], backends[i],
                                   NULL };

                add("kill", kill_everywhere, &run);
                add("twice", kill_twice, &run);
                add("errors", fail_everywhere, &run);
            }
        }
    }
    return g_test_run();
}
