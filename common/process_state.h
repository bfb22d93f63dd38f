/* SPDX-License-Identifier: Apache-2.0
 *
 * process_state - what a process has once, also if it has this code twice.
 *
 * A file server has its own copy of common/, and libstepback-interceptor.so has
 * another. The file server gives its state to the library (ic_process.h), so
 * that a level or a folder that is set once holds in both.
 *
 * Threads: the members are atomic; process_state_use() comes before any thread.
 */
#ifndef COMMON_PROCESS_STATE_H
#define COMMON_PROCESS_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process_state {
    size_t size;                     /* of this struct, where it was made */
    _Atomic int log_level;           /* enum log_level */
    const char *_Atomic log_program; /* log_set_human(); NULL: JSON */
    _Atomic int64_t log_step;
    atomic_bool log_syslog;
    const char
        *_Atomic fd_folder; /* proc_fd.h; it ends with a slash, or is "" */
};

/* The state in use: static storage, of this copy unless another was given. */
struct process_state *process_state(void);

/* Use this one (borrowed for the life of the process). False, and no change:
 * another version of this code made it. */
bool process_state_use(struct process_state *state);

#endif
