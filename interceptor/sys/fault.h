/* SPDX-License-Identifier: Apache-2.0
 *
 * fault - make one system call of the engine fail, or kill the process at it.
 *
 * For tests only, and only if configure ran with --enable-fault-injection:
 * otherwise the macros below are the bare calls, and the library has none of
 * this code (tests/checks/no-fault-injection).
 *
 * sys.c marks three kinds of points: each system call that changes the share or
 * the log, each one that only looks at them, and each entry read from a
 * directory (sys_dir_each()). The points of a kind are counted from 1. A plan
 * states what happens at which point. Set it with fault_set(), or for a whole
 * process in the environment:
 *
 *     STEPBACK_FAULT=kill-before:17        SIGKILL before the 17th change
 *     STEPBACK_FAULT=kill-after:17         ... after it
 *     STEPBACK_FAULT=torn:17               ... after half of it, if it is a
 *                                          write
 *     STEPBACK_FAULT=torn:17:ENOSPC        half of it, and the next call fails
 *     STEPBACK_FAULT=errno:17:EIO          the 17th change fails
 *     STEPBACK_FAULT=errno-from:17:ENOSPC  all fail from the 17th
 *     STEPBACK_FAULT=look-errno:17:EMFILE  the 17th look fails
 *     STEPBACK_FAULT=list-errno:3:EIO      the 3rd read of a directory fails
 *     STEPBACK_FAULT=list-errno-from:3:EIO all fail from the 3rd
 *     STEPBACK_FAULT=full:17:ENOSPC        SIGKILL before the 17th change. Once
 *                                          the disk is full (fault_fill()),
 *                                          calls that need an inode fail; with
 *                                          EDQUOT also those that need a block
 *
 * or from another process while this one runs: the plan lives on a board, which
 * may be shared memory,
 *
 *     STEPBACK_FAULT_FD=9                  the board is this inherited fd
 *
 * Threads: any thread may pass a point. If a plan is set while several threads
 * pass points, it takes effect at one of them, unspecified which.
 */
#ifndef INTERCEPTOR_SYS_FAULT_H
#define INTERCEPTOR_SYS_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum fault_action {
    FAULT_NONE,
    FAULT_KILL_BEFORE,
    FAULT_KILL_AFTER,
    FAULT_TORN,
    FAULT_TORN_ERRNO,
    FAULT_ERRNO,
    FAULT_ERRNO_FROM,
    FAULT_LOOK_ERRNO,
    FAULT_LIST_ERRNO,
    FAULT_LIST_ERRNO_FROM,
    FAULT_FULL,
};

struct fault_plan {
    enum fault_action action;
    unsigned point; /* from 1 */
    int error;      /* errno for the actions that need one */
};

/* A board of zeroes has no plan. */
struct fault_board {
    struct fault_plan plan;
    atomic_bool armed; /* the plan is complete */
    atomic_bool full;

    /* Points passed since the plan was set: changes, looks, directory reads. */
    atomic_uint changes, looks, lists;

    /* The point at which the plan fired (0: not yet), the call, and the name
     * that the call was given. */
    atomic_uint fired;
    char call[32], name[256];
};

#ifdef STEPBACK_FAULT_INJECTION

/* Restart the counts with this plan (copied) and clear the record of what
 * fired. NULL: remove the plan; what fired stays readable. */
void fault_set(struct fault_board *board, const struct fault_plan *plan);

/* From now on the disk counts as full, if the plan is a "full" plan. Returns
 * the number of changes counted so far. */
unsigned fault_fill(struct fault_board *board);

/* Use this board (borrowed) in this process from now on. The result is recorded
 * on the board only; without a board it goes to stderr. */
void fault_use(struct fault_board *board);

/* Called by the macros. True: the call must fail; errno is set. */
bool fault_fails(const char *call, const char *name);
bool fault_look_fails(const char *call, const char *name);
bool fault_list_fails(void);
size_t fault_cut(size_t len);
ssize_t fault_done(ssize_t result);

#define FAULT_POINT(call, name, expression)                                    \
    (fault_fails(call, name) ? -1 : fault_done(expression))
#define FAULT_LOOK(call, name, expression)                                     \
    (fault_look_fails(call, name) ? -1 : (expression))
#define FAULT_LIST(expression)                                                 \
    (fault_list_fails() ? -1 : ((void)(expression), 0))

#else

#define FAULT_POINT(call, name, expression) (expression)
#define FAULT_LOOK(call, name, expression)  (expression)
#define FAULT_LIST(expression)              ((void)(expression), 0)
#define fault_cut(len)                      (len)

#endif

#endif
