/* SPDX-License-Identifier: Apache-2.0
 *
 * session_parts - what the files of session.h share; for them only.
 *
 * session.c has the states, start and stop; session_command.c the command that
 * runs; session_undo.c what is asked of the undo logs; session_folder.c what is
 * asked of one folder; session_guard.c decisions of safeguards;
 * session_network.c what the guest may reach; session_spread.c asks several
 * folders' daemons;
 * session_status.c what a session says of itself.
 */
#ifndef AGENT_SESSION_SESSION_PARTS_H
#define AGENT_SESSION_SESSION_PARTS_H

#include "agent/session/exec.h"
#include "agent/session/session.h"
#include "agent/vm/machine.h"

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

const char *session_state_name(enum session_state state);

/* Why nothing can be asked in a state other than SESSION_RUNNING, and what
 * helps. */
const char *session_state_refusal(enum session_state state);

/* The answer to session_start(). A new reference. */
json_t *session_describe(const struct session *session);

/* Send an event to all; payload is taken. False if it was dropped. */
bool session_send_event(struct session *session, const char *type,
                        json_t *payload, bool droppable);

/* A step is over: tell all its report (taken), and what is to be known of the
 * names that it has made. */
void session_tell_step(struct session *session, json_t *report);

/* The folder that a field "directory" means, of a session that runs. */
gboolean session_find_folder(struct session *session, json_t *directory,
                             unsigned *ret_index, GError **error);
struct control_link *session_folder_link(struct session *session,
                                         unsigned index);

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

/* The decisions that are pending. */
GPtrArray *session_guard_new_list(void);

/* A daemon's safeguard_id as frontends know it. A new string. */
char *session_guard_make_id(const struct session *session, unsigned index,
                            const char *daemon_id);

/* An event of a folder's daemon; the payload becomes the frontend's. */
void session_guard_take_event(struct session *session, unsigned index,
                              const char *type, json_t *payload);

/* A folder's daemon has carried out what others than this session asked of it:
 * steps were taken back, or brought back, or forgotten there. The payload is
 * event.history_changed, of the control protocol. */
void session_undo_take_event(struct session *session, unsigned index,
                             json_t *payload);

/* Deny what is pending: all, or of the command that runs. */
void session_guard_deny_all(struct session *session);
void session_guard_deny_command(struct session *session);

/* For machine_callbacks, with the session as opaque: what a folder's daemon
 * says. */
void session_on_folder_event(unsigned index, const char *type, json_t *payload,
                             void *opaque);

/* What the guest says of commands: for machine_callbacks, with the session as
 * opaque. */
void session_on_output(gint64 id, const char *stream, const char *data,
                       size_t len, void *opaque);
void session_on_completed(gint64 id, const struct guest_end *end, void *opaque);
void session_on_refused(gint64 id, const char *message, void *opaque);

#endif
