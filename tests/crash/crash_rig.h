/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_rig - run a part of the engine's work with a fault, then check.
 *
 * A tree is filled on the host; steps change it. An act is the disturbed
 * operation: making and committing the last step, rolling back, recovering. It
 * runs in a child under a fault plan (fault.h), which kills it at a point or
 * makes calls fail. The engine is then started in this process, and
 *
 *     the tree must be what it was after the newest step in the history,
 *
 * with as many steps in the history as the act may leave. Another start must
 * change nothing; redo must lead to the known trees; and undoing all steps must
 * lead through them to the first, or to the one before the oldest step that was
 * not evicted. Then all is ready for the next point.
 *
 * crash_rig.c has the rounds and the act's process, crash_try.c single
 * operations, crash_look.c the checks. One thread; the processes share memory
 * for the act's reports.
 */
#ifndef TESTS_CRASH_RIG_H
#define TESTS_CRASH_RIG_H

#include <glib.h>

#include "interceptor/interceptor.h"
#include "interceptor/sys/fault.h"
#include "tests/lib/world.h"

enum { CRASH_STEPS = 3, CRASH_MAX_TRIES = 256 };

struct crash;

struct crash_tree {
    const char *name;
    unsigned sparse;  /* of its points, take only every sparse-th */
    bool only_killed; /* no call is made to fail */
    void (*fill)(struct world *w); /* on the host */
    void (*changes[CRASH_STEPS])(struct crash *c);
};

struct crash_act {
    const char *name;
    unsigned before, after; /* steps made: at the start, and when done */
    unsigned undone;        /* more steps, made and undone before it */
    unsigned forgets;       /* the oldest of them, which the log evicts */
    bool other_version;     /* the log may have another version after it */
    void (*run)(struct crash *c);

    /* Called after the act has met an error, which is over now. Each way to
     * continue must lead to a state between before and after. NULL: nothing to
     * do. */
    void (*go_on)(struct crash *c, unsigned way);
    bool fills; /* run() calls crash_fill() */
    bool stays; /* its changes, up to any point, are not rolled back */
};

/* Reports from the act's process. */
struct crash_shared {
    struct fault_board board;      /* first: a daemon maps only this */
    unsigned points, looks, lists; /* met in all, if the act or start ended */
    unsigned points_before;        /* of them, before the disk was full */
    int refused;                   /* errno of the first change that failed */
    char trouble[4096];            /* description of the failure; empty: none */
    gint64 id;                     /* of the step that it makes; 0: none */

    /* Points, stat-like calls and directory reads met when the nth operation of
     * the changes was done, in a run without a fault. */
    unsigned points_then[CRASH_MAX_TRIES], looks_then[CRASH_MAX_TRIES],
        lists_then[CRASH_MAX_TRIES];
    bool has_after;
    size_t after_len;
    char after[1 << 20]; /* the tree after the changes, lines */
};

struct crash {
    const struct crash_tree *tree;
    const struct crash_act *act;
    struct world *w;
    struct crash_shared *shared;
    int shared_fd;
    GPtrArray *states; /* of GPtrArray *: the tree after that number of steps */
    GArray *ids;       /* of gint64: the steps' ids */
    unsigned way;      /* for go_on() */
    unsigned failures, rounds;
    unsigned tried;   /* rounds in which the last plan's fault occurred */
    unsigned forgets; /* number of steps that may be evicted after this plan */
    int last_error;   /* of the round's last plan */

    /* In the act's process. */
    const struct fault_plan *plan;
    bool errors;  /* the plan makes calls fail: changes may be refused */
    bool may_die; /* another process makes the changes, and is killed */
    bool step_is_open;
    unsigned tries;    /* operations started */
    GPtrArray *before; /* the tree before this one; NULL: not read */
};

struct crash *crash_new(const struct crash_tree *tree,
                        const struct crash_act *act,
                        const struct world_backend *backend);
void crash_free(struct crash *c);

/* Run one round: the steps before, the act under the first plan, recoveries
 * under the following ones, the checks, undo of everything. False: the last
 * plan's point was not reached. Failures are reported and counted; the world is
 * then made anew. */
bool crash_round(struct crash *c, const struct fault_plan *plans, size_t count);

/* Its parts: make and fill a new world; report a failed round. */
void crash_make_world(struct crash *c);
void crash_report(struct crash *c, const struct fault_plan *plans,
                  size_t count);

/* For the acts: open and close the share, open and close the step with the
 * tree's changes (number from 0). Only the plan may cause errors. False:
 * failed. */
bool crash_open(struct crash *c);
void crash_close(struct crash *c);
bool crash_open_step(struct crash *c);
void crash_change(struct crash *c, unsigned number);
bool crash_close_step(struct crash *c);
bool crash_roll_back(struct crash *c, unsigned steps);
bool crash_roll_back_forced(struct crash *c, unsigned steps);

/* From here on the disk is full, if the plan says so. */
void crash_fill(struct crash *c);

/* Close the share, and with it the ambient step. */
void crash_close_ambient(struct crash *c);
bool crash_check_error(struct crash *c, const char *what, GError *error);

/* ---- checks -------------------------------------------------------------- */

/* The states of the history's steps: from base to at. */
struct crash_place {
    guint base, at;
};

void crash_trouble(struct crash *c, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Keep the first keep states; add one (lines are taken). */
void crash_drop_states(struct crash *c, guint keep);
void crash_add_state(struct crash *c, int64_t id, GPtrArray *lines);
void crash_compare(struct crash *c, guint state, const char *when);

/* ids (of gint64): of the history, newest first. */
struct crash_place crash_find_place(struct crash *c, const GArray *ids);
void crash_check_place(struct crash *c, struct crash_place place, bool done);

/* Check everything, after an act in a child. Returns how many steps are
 * evicted: the tree is what it was before the next one. */
guint crash_look_after(struct crash *c, bool done);

/* ---- changes ------------------------------------------------------------- */

/* For the changes: record an operation's result. whole: if it is refused, it
 * must have no effect. */
void crash_try_begin(struct crash *c);
void crash_try_end(struct crash *c, const char *what, int rc, bool whole);

#define TRY_CALL(what, whole, call)                                            \
    (crash_try_begin(c), crash_try_end(c, what, call, whole))
#define TRY(operation, ...)                                                    \
    TRY_CALL(#operation " " #__VA_ARGS__, true,                                \
             c->w->backend->operation(c->w, __VA_ARGS__))
#define TRY_PARTS(operation, ...)                                              \
    TRY_CALL(#operation " " #__VA_ARGS__, false,                               \
             c->w->backend->operation(c->w, __VA_ARGS__))

#endif
