/* SPDX-License-Identifier: Apache-2.0
 *
 * crash-mount-test - the real daemon is killed at every point of its work (I3).
 *
 * As crash-test, but the engine is in stepback-virtiofsd; changes are system
 * calls through /dev/fuse, and steps, rollbacks etc. use its control socket.
 * The daemon shares the memory of the fault plan with the test
 * (STEPBACK_FAULT_FD), which sets it at run time. A killed daemon is
 * restarted on the same folder.
 *
 * /crash-mount/kill         at each point of an act, and after half of each
 *                           write
 * /crash-mount/recovery     half-way through the act, and at each point of the
 *                           next start
 * /crash-mount/lists        each directory read fails, once or from there on;
 *                           then the daemon is ended
 * /crash-mount/start-lists  killed half-way through the act, and these fail in
 *                           the next start
 *
 * The first two run for a tree that one process changes, and for one that
 * several change: there a point is another moment in each round.
 * STEPBACK_CRASH_STRIDE=N takes every Nth point; all take some minutes.
 */
#include <errno.h>
#include <signal.h>

#include "common/errors.h"
#include "common/log.h"
#include "tests/crash/crash_points.h"
#include "tests/crash/crash_random.h"
#include "tests/crash/crash_trees.h"

enum { MAX_FAILURES = 5, FRESH_EVERY = 100 };

/* ---- requests ------------------------------------------------------------ */

static bool is_killed(struct crash *c)
{
    return c->may_die && c->shared->board.fired;
}

/* A reply may be missing only if the daemon was killed. New, or NULL. */
static json_t *ask(struct crash *c, const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = c->w->backend->request(c->w, type, payload, &error);

    if (!answer && !is_killed(c))
        crash_trouble(c, "%s: %s", type, error->message);
    return answer;
}

static bool do_ask(struct crash *c, const char *type, json_t *payload)
{
    json_t *answer = ask(c, type, payload);
    bool ok = answer != NULL;

    json_decref(answer);
    return ok;
}

static struct crash_place look_at_history(struct crash *c)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    json_t *answer = ask(c, "history", NULL), *step;
    size_t i;

    json_array_foreach(json_object_get(answer, "steps"), i, step)
    {
        gint64 id = json_integer_value(json_object_get(step, "step_id"));

        g_array_append_val(ids, id);
    }
    json_decref(answer);
    return crash_find_place(c, ids);
}

/* ---- acts ---------------------------------------------------------------- */

/* Take the snapshot before closing the step, which may be committed from then
 * on. */
static bool make_step(struct crash *c, unsigned number)
{
    int64_t id = c->w->next_id++;

    if (!do_ask(c, "step.open",
                json_pack("{s:I, s:s, s:s}", "step_id", (json_int_t)id, "type",
                          "command", "command", "changes")))
        return false;
    crash_change(c, number);
    if (is_killed(c))
        return false;
    crash_add_state(c, id, world_snapshot(c->w));
    return do_ask(c, "step.close",
                  json_pack("{s:I, s:i, s:i}", "step_id", (json_int_t)id,
                            "exit_code", 0, "quiet_ms", 0));
}

static void run_step(struct crash *c)
{
    make_step(c, c->act->before);
}

static void run_abort(struct crash *c)
{
    int64_t id = c->w->next_id++;

    if (!do_ask(c, "step.open",
                json_pack("{s:I, s:s, s:s}", "step_id", (json_int_t)id, "type",
                          "command", "command", "changes")))
        return;
    crash_change(c, c->act->before);
    do_ask(c, "step.abort", json_pack("{s:I}", "step_id", (json_int_t)id));
}

static bool roll_back(struct crash *c, unsigned steps)
{
    return do_ask(c, "rollback", json_pack("{s:i}", "steps", (int)steps));
}

static void run_rollback(struct crash *c)
{
    roll_back(c, c->act->before - c->act->after);
}

static void run_redo(struct crash *c)
{
    do_ask(c, "redo",
           json_pack("{s:i}", "steps", (int)(c->act->after - c->act->before)));
}

static void run_evict(struct crash *c)
{
    int most = (int)(c->act->after - c->act->forgets);

    do_ask(c, "configure", json_pack("{s:i}", "max_step_count", most));
}

static void run_discard(struct crash *c)
{
    do_ask(c, "discard", NULL);
}

static const struct crash_act acts[] = {
    { "first-step", 0, 1, 0, 0, false, run_step, NULL },
    { "second-step", 1, 2, 0, 0, false, run_step, NULL },
    { "third-step", 2, 3, 0, 0, false, run_step, NULL },
    { "abort", 2, 2, 0, 0, false, run_abort, NULL },
    { "rollback-third", 3, 2, 0, 0, false, run_rollback, NULL },
    { "rollback-all", 3, 0, 0, 0, false, run_rollback, NULL },
    { "redo-all", 0, 3, 3, 0, false, run_redo, NULL },
    { "evict", 3, 3, 0, 2, false, run_evict, NULL },
    { "discard", 3, 3, 0, 3, false, run_discard, NULL },
};

/* ---- rounds -------------------------------------------------------------- */

static void prepare(struct crash *c)
{
    c->shared->trouble[0] = '\0';
    crash_drop_states(c, 1);
    if (!c->w->state)
        c->w->backend->start(c->w);
    for (unsigned i = 0; i < c->act->before + c->act->undone; i++) {
        if (!make_step(c, i))
            return;
    }
    if (c->act->undone)
        roll_back(c, c->act->undone);
}

/* True: the daemon was killed meanwhile, and is gone. */
static bool run_act(struct crash *c, const struct fault_plan *plan)
{
    struct fault_board *board = &c->shared->board;

    c->may_die = true;
    fault_set(board, plan);
    c->act->run(c);
    c->shared->points = board->changes;
    c->shared->lists = board->lists;
    fault_set(board, NULL);
    c->may_die = false;
    if (board->fired == 0)
        return false;
    c->w->backend->kill(c->w);
    return true;
}

/* The same for the daemon's start. */
static bool run_start(struct crash *c, const struct fault_plan *plan)
{
    struct fault_board *board = &c->shared->board;

    fault_set(board, plan);
    if (world_mount_try_start(c->w, plan->error != 0)) {
        c->shared->points = board->changes;
        c->shared->lists = board->lists;
        fault_set(board, NULL);
        if (board->fired == 0)
            return false;
        c->w->backend->kill(c->w);
    }
    fault_set(board, NULL);
    return true;
}

static void restart(struct crash *c)
{
    crash_close(c);
    c->w->backend->start(c->w);
}

/* Errors may have kept the engine from recording what it restored. It then
 * takes that for an outside edit, and needs force. */
static bool undo_one(struct crash *c, bool had_errors)
{
    g_autoptr(GError) error = NULL;
    json_t *answer;

    if (!had_errors)
        return roll_back(c, 1);
    answer = c->w->backend->request(c->w, "rollback",
                                    json_pack("{s:i}", "steps", 1), &error);
    json_decref(answer);
    if (answer)
        return true;
    if (error_code_of(error) == ERROR_UNDO_BARRIER)
        return do_ask(c, "rollback",
                      json_pack("{s:i, s:b}", "steps", 1, "force", 1));
    crash_trouble(c, "rollback: %s", error->message);
    return false;
}

/* Undo or redo one step at a time, through the known states. */
static void go_through_all(struct crash *c, struct crash_place place,
                           bool had_errors)
{
    bool made = c->act->before + c->act->undone > 0;
    g_autoptr(GError) error = NULL;
    json_t *answer = NULL;

    while (made &&
           (answer = c->w->backend->request(
                c->w, "redo", json_pack("{s:i}", "steps", 1), &error))) {
        json_decref(answer);
        crash_compare(c, ++place.at, "redoing all");
    }
    if (made && error_code_of(error) != ERROR_NOTHING_TO_REDO &&
        !(had_errors && error_code_of(error) == ERROR_UNDO_BARRIER))
        crash_trouble(c, "redo: %s", error->message);
    while (place.at > place.base && undo_one(c, had_errors))
        crash_compare(c, --place.at, "undoing all");
}

static guint look_after(struct crash *c, bool done, bool had_errors)
{
    struct crash_place place = look_at_history(c), second;

    crash_check_place(c, place, done);
    crash_compare(c, place.at, "after the next start");
    if (!done) {
        restart(c);
        crash_compare(c, place.at, "after the second start");
        second = look_at_history(c);
        if (second.at != place.at || second.base != place.base ||
            c->w->recovery)
            crash_trouble(c, "a second start changes the history");
    }
    go_through_all(c, place, had_errors);
    return place.base;
}

/* Run the act under the first plan, and starts of the daemon under those that
 * follow. False: the last plan's point was not reached. */
static bool run_round(struct crash *c, const struct fault_plan *plans,
                      size_t count)
{
    bool killed;
    guint forgotten = 0;

    if (++c->rounds % FRESH_EVERY == 0)
        crash_make_world(c);
    c->forgets = c->act->forgets;
    prepare(c);
    killed = run_act(c, &plans[0]);
    for (size_t i = 1; killed && i < count; i++)
        killed = run_start(c, &plans[i]);
    c->tried += killed;
    if (!c->w->state)
        c->w->backend->start(c->w);
    if (!c->shared->trouble[0])
        forgotten = look_after(c, !killed && count == 1,
                               plans[count - 1].error != 0);
    if (c->shared->trouble[0])
        crash_report(c, plans, count);
    else if (forgotten > 0)
        crash_make_world(c);
    return killed;
}

/* ---- tests --------------------------------------------------------------- */

static bool goes_on(struct crash *c)
{
    return c->failures < MAX_FAILURES;
}

static unsigned measure(struct crash *c)
{
    struct fault_plan none = { .action = FAULT_NONE };

    run_round(c, &none, 1);
    return c->shared->points;
}

/* Kill it at this point, and start it without a fault. Returns the counts of
 * the start. */
static const struct crash_shared *measure_start(struct crash *c, unsigned point)
{
    struct fault_plan plans[2] = { { FAULT_KILL_BEFORE, point },
                                   { .action = FAULT_NONE } };

    c->shared->points = c->shared->lists = 0;
    run_round(c, plans, 2);
    return c->shared;
}

static void kill_everywhere(struct crash *c)
{
    unsigned count = measure(c);
    struct crash_points points = crash_choose_among(c, 1, count, 0);

    for (unsigned point = points.first; goes_on(c) && point <= points.last;
         point += points.stride) {
        struct fault_plan plan = { FAULT_KILL_BEFORE, point };

        if (!run_round(c, &plan, 1))
            break;
        plan.action = FAULT_TORN;
        if (crash_at_write(c))
            run_round(c, &plan, 1);
    }
    g_test_message("%u points, killed %u times", count, c->tried);
}

static void kill_recovery(struct crash *c)
{
    unsigned point = MAX(measure(c) / 2, 1);
    struct crash_points points = crash_choose_among(
        c, 1, measure_start(c, point)->points, 1);
    struct fault_plan plans[2] = { { FAULT_KILL_BEFORE, point },
                                   { FAULT_KILL_BEFORE, points.first } };

    while (goes_on(c) && plans[1].point <= points.last &&
           run_round(c, plans, 2))
        plans[1].point += points.stride;
    g_test_message("killed at %u, then up to %u of the next start",
                   plans[0].point, plans[1].point - points.stride);
}

static const enum fault_action list_errors[] = { FAULT_LIST_ERRNO,
                                                 FAULT_LIST_ERRNO_FROM };

static void fail_lists(struct crash *c)
{
    struct crash_points points;

    measure(c);
    points = crash_choose_among(c, 1, c->shared->lists, 2);
    for (size_t i = 0; i < G_N_ELEMENTS(list_errors); i++) {
        struct fault_plan plan = { list_errors[i], points.first, EIO };

        while (goes_on(c) && plan.point <= points.last &&
               run_round(c, &plan, 1))
            plan.point += points.stride;
        g_test_message("%u reads of directories, a failure in %u rounds",
                       plan.point - points.stride, c->tried);
    }
}

static void fail_lists_of_start(struct crash *c)
{
    unsigned point = MAX(measure(c) / 2, 1);
    struct crash_points points = crash_choose_among(
        c, 1, measure_start(c, point)->lists, 3);

    for (size_t i = 0; i < G_N_ELEMENTS(list_errors); i++) {
        struct fault_plan plans[2] = {
            { FAULT_KILL_BEFORE, point },
            { list_errors[i], points.first, EIO },
        };

        while (goes_on(c) && plans[1].point <= points.last &&
               run_round(c, plans, 2))
            plans[1].point += points.stride;
    }
}

struct run {
    const struct crash_tree *tree;
    const struct crash_act *act;
    void (*test)(struct crash *c);
};

static unsigned tried;

static void run_test(gconstpointer data)
{
    const struct run *run = data;
    struct crash *c = crash_new(run->tree, run->act, &world_mount);

    if (world_start(c->w)) {
        run->test(c);
        tried += c->tried;
    }
    crash_free(c);
}

static void add(const char *name, const struct crash_tree *tree,
                const struct crash_act *act, void (*test)(struct crash *c))
{
    struct run *run = g_new(struct run, 1);
    g_autofree char *path = g_strdup_printf("/crash-mount/%s/%s/%s", name,
                                            tree->name, act->name);

    *run = (struct run){ tree, act, test };
    g_test_add_data_func_full(path, run, run_test, g_free);
}

static void add_all(const struct crash_tree *tree)
{
    for (size_t i = 0; i < G_N_ELEMENTS(acts); i++) {
        add("kill", tree, &acts[i], kill_everywhere);
        add("recovery", tree, &acts[i], kill_recovery);
        if (tree == &crash_crowd)
            continue;
        add("lists", tree, &acts[i], fail_lists);
        add("start-lists", tree, &acts[i], fail_lists_of_start);
    }
}

int main(int argc, char **argv)
{
    int rc;

    umask(022);
    signal(SIGPIPE, SIG_IGN); /* the control socket of a killed daemon */
    g_test_init(&argc, &argv, NULL);
    log_set_level(g_test_verbose() ? LOG_LEVEL_INFO : LOG_LEVEL_NONE);
    add_all(&crash_trees[0]);
    add_all(&crash_crowd);
    rc = g_test_run();
    g_test_message("the daemon was killed in %u rounds", tried);
    return rc;
}
