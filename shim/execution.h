/* SPDX-License-Identifier: Apache-2.0
 *
 * execution - one command in the guest: its start, streams, cancel and end.
 *
 * The command runs in its own session, with two pipes or a terminal for output,
 * and a pipe, the terminal or nothing for input.
 *
 * An execution ends with its first process: background processes that hold the
 * pipes open do not delay the end. The number of bytes in the pipes at that
 * moment is read (not "until empty": a background process could prevent that
 * forever), and then step_completed is sent. A cancelled execution ends when
 * none of its processes is left, so the host can undo without a concurrent
 * writer. This also holds for a cancel between the end of the first process and
 * step_completed.
 */
#ifndef SHIM_EXECUTION_H
#define SHIM_EXECUTION_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/exec_input.h"
#include "shim/exec_output.h"
#include "shim/leader.h"
#include "shim/leftovers.h"
#include "shim/port.h"
#include "shim/processes.h"
#include "shim/spawn.h"

#define EXECUTION_STREAMS 2

/* Poll entries of one execution: outputs, input, the leader's report. */
#define EXECUTION_FDS (EXECUTION_STREAMS + 2)

enum execution_state {
    EXECUTION_NONE,
    EXECUTION_RUNNING,  /* the command runs */
    EXECUTION_DRAINING, /* the command has ended, some output is unread */
    EXECUTION_LEAVING,  /* the leader is about to end */
    EXECUTION_DYING,    /* cancelled: some processes may be left */
};

struct execution_request {
    struct spawn_request spawn;
    bool has_input; /* standard input arrives in messages */
    bool has_terminal;
    unsigned rows, columns;
    struct exec_credit credit;
};

struct execution {
    enum execution_state state;
    int64_t id;
    pid_t pid;            /* the first process: the command or its leader */
    bool reaped;          /* the first process has ended */
    int status;           /* of the command, as from waitpid(2) */
    bool cancelled;       /* SIGTERM was sent */
    int64_t next_kill_ms; /* time of the next SIGKILL */
    bool has_leader, has_terminal;
    struct leader leader;
    struct exec_output outputs[EXECUTION_STREAMS];
    struct exec_input input;
    struct exec_credit credit;
    struct process_set processes;
    uint64_t oom_before; /* oom_count() when it started */
};

/* State shared by all executions; borrowed. */
struct execution_context {
    struct process_home *home;
    struct port *port;
    struct leftovers *leftovers;
};

/* Start the execution and send step_started. Return 0, or -errno with nothing
 * sent. The request is borrowed for the call. */
int execution_start(struct execution *execution,
                    const struct execution_request *request,
                    const struct execution_context *context);

/* Start to end all processes, unless step_completed was already sent. */
void execution_cancel(struct execution *execution, int64_t now_ms);

/* Send a signal to the terminal's foreground process group, or to the command's
 * process group. Return 0 or -errno. */
int execution_signal(struct execution *execution, int number);

/* Record that a child was reaped. Return true if it was this execution's first
 * process. */
bool execution_note_exit(struct execution *execution, pid_t pid, int status);

/* Fill in the poll entries that can be served now. Return how many (at most
 * EXECUTION_FDS). */
size_t execution_poll(const struct execution *execution,
                      const struct port *port, struct pollfd *fds);

/* Return when execution_advance() is due without an event; -1: never. */
int64_t execution_deadline_ms(const struct execution *execution);

/* Move input and at most one chunk of each output, send a due SIGKILL, and end
 * the execution if it is over. Return true if there may be more output. */
bool execution_advance(struct execution *execution,
                       const struct execution_context *context, int64_t now_ms);

#endif
