/* SPDX-License-Identifier: Apache-2.0
 *
 * command - the one command that runs: its start, output, cancel and end.
 *
 * It runs in a session of its own with stdin from /dev/null and two pipes. A
 * pipe is read only while the port has room, so a host that reads slowly
 * slows the command down and loses nothing.
 *
 * The command is over when its first process is: a background process that
 * holds the pipes must not hold the end. What was written before the end is
 * in the pipes at that moment, so that many bytes are still read from them
 * (not "until empty": a background process could keep that from coming) and
 * then step_completed is sent. A cancelled command is over when none of its
 * processes lives; the host may then undo without one writing behind it. That
 * is so, too, if it is cancelled between its end and step_completed.
 */
#ifndef SHIM_COMMAND_H
#define SHIM_COMMAND_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/leftovers.h"
#include "shim/port.h"
#include "shim/processes.h"
#include "shim/spawn.h"

#define COMMAND_STREAMS 2

struct command_stream {
    int fd;                /* read end of the pipe; -1 once at its end */
    unsigned char tail[4]; /* a character that is not complete yet */
    size_t tail_len;
    size_t drain_left; /* after the end: bytes still to read */
};

enum command_state {
    COMMAND_NONE,
    COMMAND_RUNNING,  /* its first process lives */
    COMMAND_DYING,    /* cancelled, and that one is gone: others may live */
    COMMAND_DRAINING, /* over, bar output that is still in the pipes */
};

struct command {
    enum command_state state;
    int64_t id;
    pid_t pid;
    int status;           /* as from waitpid() */
    bool cancelled;       /* SIGTERM was sent */
    int64_t next_kill_ms; /* when SIGKILL is due (again) */
    struct command_stream streams[COMMAND_STREAMS];
    struct process_set processes;
};

/* Start it and send step_started. 0 or -errno: then nothing was sent. Borrows
 * the request for the call. */
int command_start(struct command *command, const struct spawn_request *request,
                  struct process_home *home, struct port *port);

/* Begin to end all its processes, unless its end was sent already. False if
 * the last command has another id. */
bool command_cancel(struct command *command, int64_t id, int64_t now_ms);

/* A child was reaped; it may be the command's. */
void command_note_exit(struct command *command, pid_t pid, int status);

/* Fill in the poll entries of the pipes that may be read now; returns how
 * many (COMMAND_STREAMS at most). */
size_t command_poll(const struct command *command, const struct port *port,
                    struct pollfd *fds);

/* When command_advance() is due although nothing happens; -1: never. */
int64_t command_deadline_ms(const struct command *command);

/* Move output to the port, kill what is due, and end the command if it is
 * over. Call after every event. */
void command_advance(struct command *command, struct process_home *home,
                     struct port *port, struct leftovers *leftovers,
                     int64_t now_ms);

/* The shim ends: kill what runs, and do not wait long for it. */
void command_end_now(struct command *command);

#endif
