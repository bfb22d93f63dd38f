/* SPDX-License-Identifier: Apache-2.0
 *
 * execution - one command in the guest: its start, streams, cancel and end.
 *
 * It runs in a session of its own, with two pipes or a terminal for output, and
 * a pipe, the terminal or nothing for input.
 *
 * An execution is over when its first process is: a background process that
 * has the pipes open does not delay the end. What was written before the end
 * is in the pipes at that moment, so that many bytes are still read from them
 * (not "until empty": a background process could keep that from coming), and
 * then step_completed is sent. A cancelled execution is over when none of its
 * processes lives; the host may then undo without one of them writing behind
 * it. That holds, too, if it is cancelled between its end and step_completed.
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
    EXECUTION_RUNNING,  /* the command lives */
    EXECUTION_DRAINING, /* it is over, except output that is still unread */
    EXECUTION_LEAVING,  /* its leader is about to end */
    EXECUTION_DYING,    /* cancelled: processes of it may live */
};

struct execution_request {
    struct spawn_request spawn;
    bool has_input; /* standard input comes by messages */
    bool has_terminal;
    unsigned rows, columns;
    struct exec_credit credit;
};

struct execution {
    enum execution_state state;
    int64_t id;
    pid_t pid;            /* the first process: the command or its leader */
    bool reaped;          /* that one has ended */
    int status;           /* of the command, as from waitpid(2) */
    bool cancelled;       /* SIGTERM was sent */
    int64_t next_kill_ms; /* when SIGKILL is due (again) */
    bool has_leader, has_terminal;
    struct leader leader;
    bool left_processes; /* known when the leader was let go */
    struct exec_output outputs[EXECUTION_STREAMS];
    struct exec_input input;
    struct exec_credit credit;
    struct process_set processes;
};

/* What all executions share; borrowed. */
struct execution_context {
    struct process_home *home;
    struct port *port;
    struct leftovers *leftovers;
};

/* Start it and send step_started. 0 or -errno: then nothing was sent. Borrows
 * the request for the call. */
int execution_start(struct execution *execution,
                    const struct execution_request *request,
                    const struct execution_context *context);

/* Begin to end all its processes, unless its end was sent already. */
void execution_cancel(struct execution *execution, int64_t now_ms);

/* Send a signal to the foreground process group of the terminal, or to the
 * process group of the command. 0 or -errno. */
int execution_signal(const struct execution *execution, int number);

/* A child was reaped. True if it was this execution's first process. */
bool execution_note_exit(struct execution *execution, pid_t pid, int status);

/* Fill in the poll entries that can be served now; returns how many
 * (EXECUTION_FDS at most). */
size_t execution_poll(const struct execution *execution,
                      const struct port *port, struct pollfd *fds);

/* When execution_advance() is due although nothing happens; -1: never. */
int64_t execution_deadline_ms(const struct execution *execution);

/* Move input and at most one chunk of each output, kill what is due, and end
 * the execution if it is over. True if there may be more output. */
bool execution_advance(struct execution *execution,
                       const struct execution_context *context, int64_t now_ms);

#endif
