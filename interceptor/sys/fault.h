/* SPDX-License-Identifier: Apache-2.0
 *
 * fault - make a system call of the engine fail, or be the last one.
 *
 * For tests alone, and only where configure was called with
 * --enable-fault-injection: else the macros below are the bare calls, and
 * nothing of this is in the library (tests/checks/no-fault-injection).
 *
 * sys.c marks each system call that changes the share or the log as a point,
 * each one that looks at them as another kind of point, and each entry read
 * from a directory (sys_dir_each()) as a third. Points of a kind are counted
 * from 1. A plan says what happens at which point. It is set by fault_set(), or
 * for a whole process by the environment:
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
 *                                          what needs an inode fails; with
 *                                          EDQUOT what needs a block, too
 *
 * or from outside, while it runs: the plan is on a board, and that may be
 * memory which another process shares,
 *
 *     STEPBACK_FAULT_FD=9                  the board is this inherited fd
 *
 * Threads: points may be met by any thread. A plan that is set while some are
 * being met takes effect at any one of them.
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
    int error;      /* an errno, for the actions that need one */
};

/* All zeroes: no plan. */
struct fault_board {
    struct fault_plan plan;
    atomic_bool armed; /* the plan is whole */
    atomic_bool full;

    /* Points met since it was set: those that change, those that look, and
     * those that read a directory. */
    atomic_uint changes, looks, lists;

    /* The point at which it happened, 0: not yet; the call, and the name that
     * it was about. */
    atomic_uint fired;
    char call[32], name[256];
};

#ifdef STEPBACK_FAULT_INJECTION

/* Begin to count anew, with this plan (copied), and forget what has fired.
 * NULL: no plan, and what has fired stays to be read. */
void fault_set(struct fault_board *board, const struct fault_plan *plan);

/* From now on the disk is full, if the plan is about that. Returns the points
 * met so far: that many changes came before. */
unsigned fault_fill(struct fault_board *board);

/* This process goes by that board (borrowed) from now on; what happens is then
 * told there alone, else on stderr. */
void fault_use(struct fault_board *board);

/* For the macros. True: fail; errno is set. */
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
