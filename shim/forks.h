/* SPDX-License-Identifier: Apache-2.0
 *
 * forks - to which execution a process or thread belongs, or belonged.
 *
 * The host asks about the numbers in FUSE requests. Many processes have ended
 * by then, so the shim follows the kernel's reports of forks (the proc
 * connector, CONFIG_PROC_EVENTS): a child belongs to the execution of its
 * parent. An execution's first process is a child of the shim. Without such
 * reports, and for numbers that the table does not have, /proc tells it for
 * processes that are alive.
 *
 * The table is bounded. An entry makes room only if its process has ended, or
 * else the new one is not entered. The reports are read at most once in
 * FORKS_PAUSE_MS, so that many forks do not wake the shim for each.
 */
#ifndef SHIM_FORKS_H
#define SHIM_FORKS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/executions.h"

enum {
    FORKS_SETS = 16384,
    FORKS_WAYS = 4,
    FORKS_PAUSE_MS = 20,
    FORKS_BUFFER = 1 << 20, /* of the socket: about 1300 forks */
};

struct fork_entry {
    pid_t pid; /* 0: none */
    uint32_t age;
    int64_t execution;
};

struct forks {
    int fd;           /* netlink socket; -1: none */
    bool lost;        /* reports were lost: do not trust a missing parent */
    int64_t pause_ms; /* until then; 0: no pause */
    uint32_t n_entered;
    const struct executions *executions; /* borrowed */
    struct fork_entry entries[FORKS_SETS][FORKS_WAYS];
};

/* Set up; with reports, ask the kernel for them. Without permission or support
 * there are none. */
void forks_open(struct forks *forks, const struct executions *executions,
                bool reports);

/* As executions_poll(): returns 0 or 1. */
size_t forks_poll(const struct forks *forks, struct pollfd *fds);
int64_t forks_deadline_ms(const struct forks *forks);

/* Read reports if there are any (after poll()), or if a pause is over. */
void forks_serve(struct forks *forks, bool ready, int64_t now_ms);

/* Return the execution to which the process or thread belongs, or which had it
 * last; 0: none that is known. */
int64_t forks_find(struct forks *forks, pid_t pid, int64_t now_ms);

#endif
