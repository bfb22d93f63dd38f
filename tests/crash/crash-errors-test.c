/* SPDX-License-Identifier: Apache-2.0
 *
 * crash-errors-test - calls of the engine fail, at every point (I3).
 *
 * /crash/recovery-errors
 *                 after a kill each call of the recovery fails
 * /crash/CR-02-CR-03-errors
 *                 each call that changes something fails: once, or with all
 *                 that follow; each stat-like call fails; each read of a
 *                 directory fails, once or with all that follow
 *
 * Each for every act and tree (crash_ways.h) but large and random ones. It
 * takes long, so each world (CRASH_WORLD) has a program, and they run side by
 * side. STEPBACK_CRASH_STRIDE=N takes every 3Nth point only.
 * STEPBACK_CRASH_POINTS=KILL,POINT,FAULT,ERRNO of a report runs only that round
 * of /crash/recovery-errors; STEPBACK_CRASH_FULL=1 runs all combinations.
 * Without a stride this takes hours: run several acts at once, by -p.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/crash/crash_points.h"
#include "tests/crash/crash_ways.h"

/* ---- errors -------------------------------------------------------------- */

static const struct {
    enum fault_action action;
    int error;
} errors[] = {
    { FAULT_ERRNO, EIO },           { FAULT_ERRNO_FROM, ENOSPC },
    { FAULT_ERRNO, ENOSPC },        { FAULT_TORN_ERRNO, ENOSPC },
    { FAULT_ERRNO, EDQUOT },        { FAULT_LOOK_ERRNO, EMFILE },
    { FAULT_LOOK_ERRNO, EIO },      { FAULT_LIST_ERRNO, EIO },
    { FAULT_LIST_ERRNO_FROM, EIO },
};

enum { WAYS = 3 };

/* Return how many points of this kind the last run has met. */
static unsigned count_points(const struct crash *c, size_t kind)
{
    switch (errors[kind].action) {
    case FAULT_LOOK_ERRNO:
        return c->shared->looks;
    case FAULT_LIST_ERRNO:
    case FAULT_LIST_ERRNO_FROM:
        return c->shared->lists;
    default:
        return c->shared->points;
    }
}

/* Choose points of each kind, from the counts of the last run. */
static void choose(const struct crash *c, unsigned series,
                   struct crash_points points[static G_N_ELEMENTS(errors)])
{
    for (size_t kind = 0; kind < G_N_ELEMENTS(errors); kind++)
        points[kind] = crash_choose_among(c, 3, count_points(c, kind),
                                          series * 100 + (unsigned)kind);
}

/* Inject one kind of error at every point. way: how the act continues; or a
 * different one at each point. */
static void fail_with(struct crash *c, size_t kind, struct crash_points points,
                      unsigned way)
{
    unsigned rounds = 0;

    for (unsigned point = points.first;
         crash_goes_on(c) && point <= points.last; point += points.stride) {
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
    struct crash_points points[G_N_ELEMENTS(errors)];

    crash_measure(c);
    choose(c, 0, points);
    for (size_t kind = 0; kind < G_N_ELEMENTS(errors); kind++) {
        for (unsigned way = 0; full && way < WAYS; way++)
            fail_with(c, kind, points[kind], way);
        if (!full)
            fail_with(c, kind, points[kind], WAYS);
    }
}

/* ---- errors in the recovery ---------------------------------------------- */

/* What the engine cannot read at one start it can at the next. */
static void fail_recovery(struct crash *c, unsigned point, size_t kind,
                          struct crash_points points)
{
    struct fault_plan plans[2] = { { FAULT_KILL_BEFORE, point },
                                   { errors[kind].action, points.first,
                                     errors[kind].error } };

    while (crash_goes_on(c) && plans[1].point <= points.last &&
           crash_round(c, plans, 2))
        plans[1].point += points.stride;
    g_test_message("killed at %u, then %s, %d, up to %u of the recovery", point,
                   g_strerror(errors[kind].error), (int)errors[kind].action,
                   plans[1].point - points.stride);
}

/* Run only the round of a report. */
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
    struct crash_points points[G_N_ELEMENTS(errors)];
    unsigned count, point;

    if (again) {
        fail_again(c, again);
        return;
    }
    count = crash_measure(c);
    for (unsigned i = 0; i < CHOSEN && crash_goes_on(c); i++) {
        point = MAX(count * (2 * i + 1) / (2 * CHOSEN), 1);
        crash_measure_recovery(c, point);
        choose(c, 1 + i, points);
        for (size_t kind = 0; kind < G_N_ELEMENTS(errors); kind++)
            fail_recovery(c, point, kind, points[kind]);
    }
}

int main(int argc, char **argv)
{
    static const struct crash_way ways[] = {
        { "CR-02-CR-03-errors", fail_everywhere, CRASH_USUAL },
        { "recovery-errors", fail_recoveries, CRASH_USUAL },
    };

    return crash_main(argc, argv, ways, G_N_ELEMENTS(ways), &CRASH_WORLD);
}
