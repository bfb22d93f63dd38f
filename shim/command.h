/* SPDX-License-Identifier: Apache-2.0
 *
 * command - the one command that runs: its start, output, cancel and end.
 *
 *            start              main process ended
 *     IDLE ---------> RUNNING ----------------------> DRAINING ---> IDLE
 *                       | cancel                          ^  completed
 *                       v          all processes ended    |
 *                    CANCELLING --------------------------+
 *
 * DRAINING sends what stood in the pipes at that moment, counted once, so
 * that a background process that goes on writing cannot put off the end.
 */
#ifndef SHIM_COMMAND_H
#define SHIM_COMMAND_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/port.h"
#include "shim/stream.h"

enum command_state {
    COMMAND_IDLE,
    COMMAND_RUNNING,
    COMMAND_CANCELLING,
    COMMAND_DRAINING,
};

enum { COMMAND_STREAMS = 2 };

struct command {
    enum command_state state;
    int64_t id;
    pid_t pid;         /* 0 once the main process was reaped */
    int status;        /* as waitpid() gives it */
    int64_t kill_time; /* ms of CLOCK_MONOTONIC when SIGKILL is due */
    struct stream streams[COMMAND_STREAMS];
    size_t undrained[COMMAND_STREAMS]; /* DRAINING: bytes still to send */
};

/* Start it and say so. command and cwd are borrowed; the environment is
 * environment_get(). Failures are told as the protocol has it. */
void command_start(struct command *command, int64_t id, const char *text,
                   const char *cwd, struct port *port);

/* SIGTERM to all of it, SIGKILL later. */
void command_cancel(struct command *command);

/* SIGKILL to all of it, now. */
void command_kill(struct command *command);

/* A child of the shim has ended. */
void command_reaped(struct command *command, pid_t pid, int status);

/* Fill in what to poll now; the number, at most COMMAND_STREAMS. */
int command_poll(const struct command *command, const struct port *port,
                 struct pollfd *polls);

/* Do all that can be done now. */
void command_advance(struct command *command, struct port *port);

/* Milliseconds until command_advance() is due though no fd is ready; -1 for
 * never. */
int command_timeout(const struct command *command, const struct port *port);

#endif
