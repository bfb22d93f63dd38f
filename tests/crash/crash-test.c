/* SPDX-License-Identifier: Apache-2.0
 *
 * crash-test - the engine is killed at every point (I3).
 *
 * /crash/kill     SIGKILL before each call that changes something, and after
 *                 half of each write
 * /crash/twice    ... and once more at each point of the recovery
 * /crash/full     SIGKILL before each call of an undo or redo that finds the
 *                 disk full, with space again at the next start
 *
 * Each for every act and tree (crash_ways.h); large and random trees only for
 * the first. STEPBACK_CRASH_POINTS=A,B,C runs only that round of /crash/twice.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "tests/crash/crash_points.h"
#include "tests/crash/crash_ways.h"

enum { MAX_KILLS = 8 };

/* ---- kill ---------------------------------------------------------------- */

static void kill_everywhere(struct crash *c)
{
    struct crash_points points = crash_choose_among(c, 1, crash_measure(c), 0);
    unsigned killed = 0;

    for (unsigned point = points.first;
         crash_goes_on(c) && point <= points.last; point += points.stride) {
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
    struct crash_points points = crash_choose_among(
        c, 2, crash_measure_recovery(c, point), point);
    struct fault_plan plans[2] = { { FAULT_KILL_BEFORE, point },
                                   { FAULT_KILL_BEFORE, points.first } };

    while (crash_goes_on(c) && plans[1].point <= points.last &&
           crash_round(c, plans, 2))
        plans[1].point += points.stride;
    g_test_message("killed at %u, then up to %u of the recovery", point,
                   plans[1].point - points.stride);
}

static void kill_pairs(struct crash *c, unsigned points, GRand *rand)
{
    unsigned pairs = 30 / crash_choose_points(c, 1).stride;

    for (unsigned i = 0; i < pairs && crash_goes_on(c); i++) {
        struct fault_plan plans[3] = {
            { FAULT_KILL_BEFORE,
              (unsigned)g_rand_int_range(rand, 1, (gint32)points + 1) },
            { FAULT_KILL_BEFORE, (unsigned)g_rand_int_range(rand, 1, 60) },
            { FAULT_KILL_BEFORE, (unsigned)g_rand_int_range(rand, 1, 60) },
        };

        crash_round(c, plans, 2 + i % 2);
    }
}

/* Run the round of a report 20 times: reuse of inode numbers depends on chance.
 */
static void kill_again(struct crash *c, const char *numbers)
{
    g_auto(GStrv) points = g_strsplit(numbers, ",", MAX_KILLS);
    struct fault_plan plans[MAX_KILLS];
    size_t count = g_strv_length(points);

    for (size_t i = 0; i < count; i++)
        plans[i] = (struct fault_plan){
            FAULT_KILL_BEFORE, (unsigned)strtoul(points[i], NULL, 10)
        };
    for (unsigned i = 0; i < 20 && crash_goes_on(c); i++)
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
    points = crash_measure(c);
    for (unsigned i = 0; i < CHOSEN && crash_goes_on(c); i++)
        kill_recovery(c, MAX(points * (2 * i + 1) / (2 * CHOSEN), 1));
    if (crash_goes_on(c))
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
    for (plan.point = first; crash_goes_on(c) && plan.point <= last;
         plan.point += stride)
        crash_round(c, &plan, 1);
    g_test_message("%s: killed at points %u to %u", g_strerror(error), first,
                   last);
}

static void kill_full(struct crash *c)
{
    kill_when_full(c, ENOSPC);
    if (crash_goes_on(c))
        kill_when_full(c, EDQUOT);
}

int main(int argc, char **argv)
{
    static const struct crash_way ways[] = {
        { "kill", kill_everywhere, CRASH_ALL_TREES },
        { "twice", kill_twice, CRASH_USUAL },
        { "full", kill_full, CRASH_FILLING_ACTS },
    };

    return crash_main(argc, argv, ways, G_N_ELEMENTS(ways), NULL);
}
