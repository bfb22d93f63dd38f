/* SPDX-License-Identifier: Apache-2.0
 *
 * session_exec - executions of a session: commands side by side, with streamed
 * input and output.
 *
 * An execution is attached to one party, which gets all of its output, as fast
 * as it consumes it; or it is detached. In both cases the session keeps the
 * latest output. A party that leaves an execution hangs up: its processes get
 * SIGHUP, and it is detached.
 *
 * The unknown id of an execution is ERROR_NOT_FOUND. An execution that has
 * ended is known until SESSION_EXEC_ENDED newer ones have ended, or
 * session_exec_forget().
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_SESSION_EXEC_H
#define AGENT_SESSION_SESSION_EXEC_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/base/reply.h"
#include "agent/session/exec_ring.h"
#include "agent/session/session.h"
#include "agent/session/session_party.h"

enum {
    SESSION_EXEC_INPUT_MAX = 256 * 1024, /* bytes of one session_exec_input() */
    SESSION_EXEC_READ_MAX = 256 * 1024, /* bytes of one session_exec_output() */
};

enum exec_state { EXEC_WAITING, EXEC_RUNNING, EXEC_ENDED };

/* A description of an execution; all borrowed. */
struct exec_info {
    gint64 exec_id;
    gint64 step_id; /* 0: none, or not yet */
    enum exec_state state;
    const char *command; /* bytes: the line, or the quoted words */
    const char *label;   /* or NULL */
    bool attached, was_detached, has_terminal;
    enum command_step step;
    gint64 started, ended; /* CLOCK_REALTIME, us; 0: not yet */
    guint64 output_bytes;
    int exit_code; /* -1: unknown, or it has not ended */
};

/* Kept output of an execution. */
struct exec_reading {
    GPtrArray *chunks; /* of struct exec_chunk */
    guint64 next;      /* the offset to continue from */
    guint64 gone;      /* bytes that were asked for and are lost */
    bool ended;        /* the execution; no output follows after "next" */
};

/* Start a command (taken); with a step it may have to wait for its turn. party
 * (borrowed until the execution's end or session_exec_leave()): NULL starts it
 * detached. wait: false fails with ERROR_BUSY in place of waiting. Return its
 * id, or 0 and an error: also ERROR_BUSY if too many run, and those of
 * session_execute(). */
gint64 session_exec_start(struct session *session, struct command *command,
                          const struct session_party *party, bool wait,
                          GError **error);

/* The party has passed on output. Other parties' calls have no effect. */
void session_exec_consumed(struct session *session, gint64 id,
                           const struct session_party *party, size_t len);

/* Pass on standard input (taken, or NULL), and its end. The answer comes when
 * the input is on its way to the guest, so that a caller who waits for it sends
 * no faster than the command reads. ERROR_TOO_LARGE; ERROR_INVALID_FIELD: the
 * execution has no streamed input. */
void session_exec_input(struct session *session, gint64 id, GBytes *data,
                        bool eof, reply_done done, void *opaque);

/* ERROR_INVALID_FIELD: it has no terminal. */
gboolean session_exec_resize(struct session *session, gint64 id, unsigned rows,
                             unsigned columns, GError **error);

/* Send a signal to the terminal's foreground process group, or to the command's
 * process group. An execution that has ended is no error. */
gboolean session_exec_signal(struct session *session, gint64 id, int number,
                             GError **error);

/* Stop all processes of the execution: SIGTERM, then SIGKILL. */
gboolean session_exec_cancel(struct session *session, gint64 id,
                             GError **error);

/* The answer comes when the execution has ended: an exec_exit. */
void session_exec_wait(struct session *session, gint64 id, reply_done done,
                       void *opaque);

/* Read kept output, also of an execution that a party is attached to. Offsets
 * count the output since its start. Clear with exec_reading_clear(). */
gboolean session_exec_output(struct session *session, gint64 id, guint64 since,
                             struct exec_reading *ret_reading, GError **error);
void exec_reading_clear(struct exec_reading *reading);

/* Attach to a running execution: the party first gets the kept output that no
 * party has got.
 * ERROR_BUSY if a party is attached and replace is false. An execution that has
 * ended calls "exited" at once. */
gboolean session_exec_attach(struct session *session, gint64 id,
                             const struct session_party *party, bool replace,
                             GError **error);

/* Detach: the execution goes on without a party. ERROR_INVALID_FIELD: the party
 * is not attached to it. */
gboolean session_exec_detach(struct session *session, gint64 id,
                             const struct session_party *party, GError **error);

/* The party is gone: hang up all of its executions. */
void session_exec_leave(struct session *session,
                        const struct session_party *party);

/* Forget an execution that has ended. ERROR_BUSY: it has not. */
gboolean session_exec_forget(struct session *session, gint64 id,
                             GError **error);

/* Return how many are known, and describe number i, in order of their start. */
unsigned session_exec_count(const struct session *session);
void session_exec_get(const struct session *session, unsigned i,
                      struct exec_info *ret_info);

#endif
