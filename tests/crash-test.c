/* SPDX-License-Identifier: Apache-2.0
 *
 * crash-test - the engine is killed, or its calls fail, at every point (I3).
 *
 * /crash/kill     SIGKILL before each call that changes something, and after
 *                 half of each write
 * /crash/twice    ... and once more at each point of the recovery
 * /crash/recovery-errors
 *                 ... and each call of the recovery fails
 * /crash/full     SIGKILL before each call of an undo or redo that finds the
 *                 disk full, with room again at the next start
 * /crash/CR-02-CR-03-errors
 *                 each such call fails: once, or with all that follow; each
 *                 call that looks fails
 *
 * Each for every act (crash_acts.c), with the log beside the folder and on
 * another filesystem; of trees that are large, or changed at random, only the
 * first. STEPBACK_CRASH_STRIDE=N takes every Nth point only, and of the errors,
 * which are many, every 3Nth; STEPBACK_CRASH_SEED=S chooses others.
 * STEPBACK_CRASH_POINTS=A,B,C lets /crash/twice make that round alone, and
 * KILL,POINT,FAULT,ERRNO of a report /crash/recovery-errors.
 * STEPBACK_CRASH_FULL=1 runs all combinations of the errors. Without a stride
 * the errors take hours: run several acts at once, by -p.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "tests/crash_acts.h"
#include "tests/crash_points.h"
#include "tests/crash_random.h"
#include "tests/crash_trees.h"

enum { MAX_FAILURES = 5, MAX_KILLS = 8 };

/* ---- rounds -------------------------------------------------------------- */

static bool goes_on(struct crash *c)
{
    return c->failures < MAX_FAILURES;
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
    struct crash_points points = crash_choose_points(c, 1);
    unsigned killed = 0;

    measure(c);
    for (unsigned point = points.first; goes_on(c); point += points.stride) {
        struct fault_plan plan = { FAULT_KILL_BEFORE, point };

        if (!crash_round(c, &plan, 1))
            break;
        killed++;
        plan.action = FAULT_TORN;
        if (crash_at_write(c)) {
            crash_round(c, &plan, 1);
            killed++;
        }
    }
    g_test_message("killed %u times", killed);
}

/* ---- kill again, in the recovery ----------------------------------------- */

static void kill_recovery(struct crash *c, unsigned point)
{
    struct crash_points points = crash_choose_points(c, 2);
    struct fault_plan plans[2] = { { FAULT_KILL_BEFORE, point },
                                   { FAULT_KILL_BEFORE, points.first } };

    while (goes_on(c) && crash_round(c, plans, 2))
        plans[1].point += points.stride;
    g_test_message("killed at %u, then up to %u of the recovery", point,
                   plans[1].point - points.stride);
}

static void kill_pairs(struct crash *c, unsigned points, GRand *rand)
{
    unsigned pairs = 30 / crash_choose_points(c, 1).stride;

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

/* The round of a report, 20 times: reuse of inode numbers is a matter of
 * chance. */
static void kill_again(struct crash *c, const char *numbers)
{
    g_auto(GStrv) points = g_strsplit(numbers, ",", MAX_KILLS);
    struct fault_plan plans[MAX_KILLS];
    size_t count = g_strv_length(points);

    for (size_t i = 0; i < count; i++)
        plans[i] = (struct fault_plan){
            FAULT_KILL_BEFORE, (unsigned)strtoul(points[i], NULL, 10)
        };
    for (unsigned i = 0; i < 20 && goes_on(c); i++)
        crash_round(c, plans, count);
}

static void kill_twice(struct crash *c)
{
    enum { CHOSEN = 3 };
    g_autoptr(GRand) rand = g_rand_new_with_seed(crash_seed());
    const char *again = g_getenv("STEPBACK_CRASH_POINTS");
    unsigned points;

    if (again) {
        kill_again(c, again);
        return;
    }
    points = measure(c);
    for (unsigned i = 0; i < CHOSEN && goes_on(c); i++)
        kill_recovery(c, MAX(points * (2 * i + 1) / (2 * CHOSEN), 1));
    if (goes_on(c))
        kill_pairs(c, points, rand);
}

/* ---- kill while the disk is full ----------------------------------------- */

static void kill_when_full(struct crash *c, int error)
{
    /* There are few of them, and each counts. */
    unsigned stride = MAX(crash_choose_points(c, 1).stride / 8, 1);
    struct fault_plan plan = { FAULT_FULL, UINT_MAX, error };
    unsigned first, last;

    c->way = 2; /* the act ends with its error */
    crash_round(c, &plan, 1);
    first = c->shared->points_before + 1;
    last = c->shared->points;
    for (plan.point = first; goes_on(c) && plan.point <= last;
         plan.point += stride)
        crash_round(c, &plan, 1);
    g_test_message("%s: killed at points %u to %u", g_strerror(error), first,
                   last);
}

static void kill_full(struct crash *c)
{
    kill_when_full(c, ENOSPC);
    if (goes_on(c))
        kill_when_full(c, EDQUOT);
}

/* ---- errors -------------------------------------------------------------- */

static const struct {
    enum fault_action action;
    int error;
} errors[] = {
    { FAULT_ERRNO, EIO },      { FAULT_ERRNO_FROM, ENOSPC },
    { FAULT_ERRNO, ENOSPC },   { FAULT_TORN_ERRNO, ENOSPC },
    { FAULT_ERRNO, EDQUOT },   { FAULT_LOOK_ERRNO, EMFILE },
    { FAULT_LOOK_ERRNO, EIO },
};

enum { WAYS = 3 };

/* One kind of error at every point. way: how the act goes on; or another one at
 * each point. */
static void fail_with(struct crash *c, size_t kind, unsigned way)
{
    struct crash_points points = crash_choose_points(c, 3);
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
    bool full = c->act->go_on && g_getenv("STEPBACK_CRASH_FULL") != NULL;

    measure(c);
    for (size_t kind = 0; kind < G_N_ELEMENTS(errors); kind++) {
        for (unsigned way = 0; full && way < WAYS; way++)
            fail_with(c, kind, way);
        if (!full)
            fail_with(c, kind, WAYS);
    }
}

/* ---- errors in the recovery ---------------------------------------------- */

/* What the engine cannot read at its start is there at the next. */
static void fail_recovery(struct crash *c, unsigned point, size_t kind)
{
    struct crash_points points = crash_choose_points(c, 3);
    struct fault_plan plans[2] = { { FAULT_KILL_BEFORE, point },
                                   { errors[kind].action, points.first,
                                     errors[kind].error } };

    while (goes_on(c) && crash_round(c, plans, 2))
        plans[1].point += points.stride;
    g_test_message("killed at %u, then %s, %d, up to %u of the recovery", point,
                   g_strerror(errors[kind].error), (int)errors[kind].action,
                   plans[1].point - points.stride);
}

/* The round of a report alone. */
static void fail_again(struct crash *c, const char *numbers)
{
    struct fault_plan plans[2] = { { FAULT_KILL_BEFORE, 0, 0 } };
    int action;

    if (sscanf(numbers, "%u,%u,%d,%d", &plans[0].point, &plans[1].point,
               &action, &plans[1].error) != 4) {
        g_test_message("STEPBACK_CRASH_POINTS=KILL,POINT,FAULT,ERRNO");
        g_test_fail();
        return;
    }
    plans[1].action = (enum fault_action)action;
    crash_round(c, plans, 2);
}

static void fail_recoveries(struct crash *c)
{
    enum { CHOSEN = 2 };
    const char *again = g_getenv("STEPBACK_CRASH_POINTS");
    unsigned points;

    if (again) {
        fail_again(c, again);
        return;
    }
    points = measure(c);
    for (size_t kind = 0; kind < G_N_ELEMENTS(errors); kind++) {
        for (unsigned i = 0; i < CHOSEN && goes_on(c); i++)
            fail_recovery(c, MAX(points * (2 * i + 1) / (2 * CHOSEN), 1), kind);
    }
}

/* ---- all of it ----------------------------------------------------------- */

struct run {
    const struct crash_tree *tree;
    const struct crash_act *act;
    const struct world_backend *backend;
    void (*test)(struct crash *c);
};

static unsigned tried;

static void run_test(gconstpointer data)
{
    const struct run *run = data;
    struct crash *c;

    if (run->backend->log_elsewhere && access("/dev/shm", W_OK) < 0) {
        g_test_skip("there is no /dev/shm");
        return;
    }
    c = crash_new(run->tree, run->act, run->backend);
    run->test(c);
    tried += c->tried;
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

static void add_acts(const struct crash_tree *tree,
                     const struct world_backend *backend)
{
    for (size_t i = 0; i < crash_acts_count; i++) {
        struct run run = { tree, &crash_acts[i], backend, NULL };

        if (tree->sparse && !run.act->forgets)
            continue;
        add("kill", kill_everywhere, &run);
        if (tree->only_killed)
            continue;
        add("twice", kill_twice, &run);
        add("CR-02-CR-03-errors", fail_everywhere, &run);
        add("recovery-errors", fail_recoveries, &run);
        if (run.act->fills)
            add("full", kill_full, &run);
    }
}

int main(int argc, char **argv)
{
    const struct world_backend *backends[] = { &world_folder,
                                               &world_folder_copy };
    int rc;

    umask(022);
    g_test_init(&argc, &argv, NULL);
    log_set_level(g_test_verbose() ? LOG_LEVEL_INFO : LOG_LEVEL_NONE);
    for (size_t i = 0; i < G_N_ELEMENTS(backends); i++) {
        for (size_t j = 0; j < crash_trees_count; j++)
            add_acts(&crash_trees[j], backends[i]);
        add_acts(&crash_random, backends[i]);
    }
    rc = g_test_run();
    g_test_message("a fault was met in %u rounds", tried);
    return rc;
}
