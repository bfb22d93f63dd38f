/* SPDX-License-Identifier: Apache-2.0
 *
 * session_parts - what the files of session.h share; for them only.
 *
 * session.c has the states, start and stop; session_command.c the command that
 * runs; session_undo.c what is asked of the daemons between commands.
 */
#ifndef AGENT_SESSION_PARTS_H
#define AGENT_SESSION_PARTS_H

#include "agent/exec.h"
#include "agent/machine.h"
#include "agent/session.h"

enum session_state {
    SESSION_STOPPED,
    SESSION_STARTING,
    SESSION_RUNNING,
    SESSION_STOPPING,
    SESSION_BROKEN,
};

struct session {
    enum session_state state;
    char *log_level;
    GArray *listeners; /* of struct listener (session.c) */

    struct session_config *config;
    struct machine *machine;
    int folder_fd;
    GError *start_error;   /* why the start failed, while what ran is ended */
    unsigned preparations; /* requests that the start waits for */
    struct reply starter, stopper;

    /* session_reset(): stopped first, and started again with its config. */
    bool resetting;
    struct session_config *reset_config;
    struct reply resetter;

    gint64 last_step_id;
    struct exec *exec; /* the command that runs, or NULL */
    struct reply executor;
    guint stop_timer;
    bool writing; /* an API step is under way */

    json_t *warnings; /* about the folder: payloads of event.warning */
};

/* Send an event to all; payload is taken. False if it was dropped. */
bool session_send_event(struct session *session, const char *type,
                        json_t *payload, bool droppable);

/* ERROR_NO_SESSION unless it runs. */
gboolean session_check_running(struct session *session, GError **error);

/* And ERROR_STEP_ACTIVE while a step is open. */
gboolean session_check_idle(struct session *session, GError **error);

/* The machine runs no more, or must not: keep the session as an error. */
void session_lose_machine(struct session *session, const GError *error);

/* The command is over (session_command.c tells session.c). */
void session_command_over(struct session *session);

/* What the guest says of commands: for machine_callbacks, with the session as
 * opaque. */
void session_on_output(gint64 id, const char *stream, const char *data,
                       size_t len, void *opaque);
void session_on_completed(gint64 id, int exit_code, int number, void *opaque);
void session_on_refused(gint64 id, const char *message, void *opaque);

#endif
