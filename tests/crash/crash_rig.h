/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_rig - run a part of the engine's work with a fault in it, look after.
 *
 * A tree is filled on the host; steps change it. An act is what is disturbed:
 * making and committing the last step, rolling back, recovering. It runs in a
 * process of its own under a fault plan (fault.h), which kills it at a point
 * or makes calls fail. The engine is then started anew in this process, and
 *
 *     the tree must be what it was after the newest step in the history,
 *
 * with as many steps in the history as the act may leave; starting it once
 * more must change nothing; what can be redone must lead to the trees that
 * there were; and undoing all of it, one by one, must lead through them, to
 * the first, or to that before the oldest step that was not forgotten. If none
 * was, that leaves everything as it was for the next point.
 *
 * crash_rig.c has the rounds and the act's process, crash_try.c single
 * operations, crash_look.c what there must be afterwards.
 *
 * One thread; the processes share memory for what the act reports.
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
    unsigned sparse;               /* of its points, take every so-manieth */
    bool only_killed;              /* no call is made to fail */
    void (*fill)(struct world *w); /* on the host */
    void (*changes[CRASH_STEPS])(struct crash *c);
};

struct crash_act {
    const char *name;
    unsigned before, after; /* steps made: at the start, done */
    unsigned undone;        /* more steps, made and taken back before it */
    unsigned forgets;       /* the oldest of them, which the log forgets */
    bool other_version;     /* the log may be of another version after it */
    void (*run)(struct crash *c);

    /* The act has met an error that lasts no longer. Each way to go on must
     * lead to a state between before and after. NULL: nothing to do. */
    void (*go_on)(struct crash *c, unsigned way);
    bool fills; /* run() calls crash_fill() */
    bool stays; /* what it has changed, to whatever point, is not taken back */
};

/* What the act's process tells. */
struct crash_shared {
    struct fault_board board; /* first: a daemon maps this alone */
    unsigned points, looks;   /* met in all, if the act came to its end */
    unsigned points_before;   /* of them, before the disk was full */
    int refused;              /* errno of the first change that failed */
    char trouble[4096];       /* what is wrong; empty: nothing */
    gint64 id;                /* of the step that it makes; 0: none */

    /* Points, looks and reads of directories met when the nth operation of the
     * changes was done, in a run without a fault. */
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
    GPtrArray *states; /* of GPtrArray *: the tree after as many steps */
    GArray *ids;       /* of gint64: the steps' ids */
    unsigned way;      /* for go_on() */
    unsigned failures, rounds;
    unsigned tried;   /* rounds in which the last plan's fault happened */
    unsigned forgets; /* so many may be forgotten after this plan */
    int last_error;   /* of the round's last plan */

    /* In the act's process. */
    const struct fault_plan *plan;
    bool errors;  /* the plan makes calls fail: changes may be refused */
    bool may_die; /* changes are made by another process, which is killed */
    bool step_is_open;
    unsigned tries;    /* operations begun */
    GPtrArray *before; /* the tree before this one; NULL: not looked */
};

struct crash *crash_new(const struct crash_tree *tree,
                        const struct crash_act *act,
                        const struct world_backend *backend);
void crash_free(struct crash *c);

/* One round: the steps before, the act under the first plan, recoveries under
 * those that follow, the checks, undoing all. False: the last plan's point was
 * not reached. Failures are reported and counted; the world is then made
 * anew. */
bool crash_round(struct crash *c, const struct fault_plan *plans, size_t count);

/* What that consists of: a fresh world, filled; a failed round's report. */
void crash_make_world(struct crash *c);
void crash_report(struct crash *c, const struct fault_plan *plans,
                  size_t count);

/* For the acts: open and close the share, open and close the step with the
 * tree's changes (number from 0). Errors may only be the plan's. False: could
 * not. */
bool crash_open(struct crash *c);
void crash_close(struct crash *c);
bool crash_open_step(struct crash *c);
void crash_change(struct crash *c, unsigned number);
bool crash_close_step(struct crash *c);
bool crash_roll_back(struct crash *c, unsigned steps);
bool crash_roll_back_forced(struct crash *c, unsigned steps);

/* From here on the disk is full, if the plan wants it. */
void crash_fill(struct crash *c);

/* Close the share, and with it the ambient step. */
void crash_close_ambient(struct crash *c);
bool crash_check_error(struct crash *c, const char *what, GError *error);

/* ---- what there must be -------------------------------------------------- */

/* Where the history leads: its steps are those from state base to state at. */
struct crash_place {
    guint base, at;
};

void crash_trouble(struct crash *c, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Keep the first so many states; add one (lines are taken). */
void crash_drop_states(struct crash *c, guint keep);
void crash_add_state(struct crash *c, int64_t id, GPtrArray *lines);
void crash_compare(struct crash *c, guint state, const char *when);

/* ids (of gint64): of the history, newest first. */
struct crash_place crash_find_place(struct crash *c, const GArray *ids);
void crash_check_place(struct crash *c, struct crash_place place, bool done);

/* All of it, after an act in a process. Returns how many steps are forgotten:
 * the tree is what it was before the next one. */
guint crash_look_after(struct crash *c, bool done);

/* ---- changes ------------------------------------------------------------- */

/* For the changes: note what an operation said. whole: if it is refused,
 * nothing of it may be seen. */
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
