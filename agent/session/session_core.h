/* SPDX-License-Identifier: Apache-2.0
 *
 * session_core - a session, for the files of session.h alone.
 */
#ifndef AGENT_SESSION_SESSION_CORE_H
#define AGENT_SESSION_SESSION_CORE_H

#include "agent/base/reply.h"
#include "agent/client/step_merge.h"
#include "agent/session/exec.h"
#include "agent/session/session_events.h"
#include "agent/vm/machine.h"

struct session_listener {
    const struct session_callbacks *callbacks;
    void *opaque;
};

struct session {
    enum session_state state;
    char *log_level;
    GArray *listeners; /* of struct session_listener */
    struct session_counters counters;

    struct session_config *config;
    struct machine *machine;
    struct session_folder {
        int fd;           /* O_PATH, or -1 */
        json_t *warnings; /* payloads of event.warning, the newest */
    } folders[SESSION_MAX_DIRECTORIES];
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
    unsigned writes;      /* of files, that are under way */
    const char *occupied; /* what keeps others out; static, or NULL */
    bool history_missed;  /* the frontend had no room (session_undo.c) */
    GHashTable *undone;   /* of ids: sets of folders (redo_units.h) */
    GPtrArray *questions; /* decisions that are pending (session_guard.c) */
};

/* Why nothing can be asked in a state other than SESSION_RUNNING, and what
 * helps. */
const char *session_state_refusal(enum session_state state);

/* Send an event to all. False: the first listener's was dropped. */
bool session_send(struct session *session, const struct session_event *event);

/* The same for one that is not typed; payload is taken. */
bool session_send_event(struct session *session, const char *name,
                        json_t *payload, bool droppable);

/* The undo logs of a running session's folders. */
void session_get_logs(struct session *session, struct step_logs *ret_logs);

/* ERROR_NO_SESSION unless it runs. */
gboolean session_check_running(struct session *session, GError **error);

/* And ERROR_STEP_ACTIVE while a step is open. */
gboolean session_check_idle(struct session *session, GError **error);

/* The machine runs no more, or must not: keep the session as an error. */
void session_lose_machine(struct session *session, const GError *error);

/* The command is over (session_command.c tells session.c). */
void session_command_over(struct session *session);

/* The folders are others now: tell all. */
void session_tell_folders(struct session *session);

/* Keep the payload (borrowed) of a warning about a folder for fs.status. */
void session_keep_warning(struct session *session, unsigned index,
                          json_t *payload);

#endif
