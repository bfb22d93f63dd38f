/* SPDX-License-Identifier: Apache-2.0
 *
 * session_core - the session object, private to the files that implement
 * session.h.
 */
#ifndef AGENT_SESSION_SESSION_CORE_H
#define AGENT_SESSION_SESSION_CORE_H

#include "agent/base/reply.h"
#include "agent/client/step_merge.h"
#include "agent/session/exec.h"
#include "agent/session/session_events.h"
#include "agent/machine/machine.h"

struct session_listener {
    const struct session_callbacks *callbacks;
    void *opaque;
};

struct session;
struct execution;
struct guest_steps;

/* Called by files below session_guest_steps.h, which implements them. */
struct session_guest_hooks {
    /* Start what can go on now: of the requests that wait for their turn, those
     * older than the execution with this id. Return whether the turn is
     * taken. */
    bool (*next)(struct session *session, gint64 before);
    /* Keep the report of a completed step for list and diff. */
    void (*record)(struct session *session, struct step_report *report);
    /* The execution ends: refuse its requests. */
    void (*end)(struct execution *execution);
    void (*free)(struct guest_steps *steps); /* or NULL */
};

/* An engine's question about processes of the guest (session_writers.h). */
struct session_question {
    gint64 request;
    GArray *pids; /* of guint32; NULL: none is pending */
};

struct session {
    const struct session_guest_hooks *guest_hooks;
    enum session_state state;
    char *log_level;
    GArray *listeners; /* of struct session_listener */
    struct session_counters counters;

    struct session_config *config;
    struct machine *machine;
    struct session_folder {
        int fd;              /* O_PATH, or -1 */
        GPtrArray *warnings; /* of struct folder_warning, the newest; or NULL */
        struct session_question question;
    } folders[SESSION_MAX_DIRECTORIES];
    GError *start_error;   /* why the start failed; kept while the started
                              processes end */
    unsigned preparations; /* requests that the start waits for */
    struct reply starter, stopper;

    /* session_reset(): stopping now, to be started again with its config */
    bool resetting;
    struct session_config *reset_config;
    struct reply resetter;

    gint64 last_step_id;
    struct exec *exec;     /* the command whose step is open, or NULL */
    GPtrArray *execs;      /* commands that run or wait for their turn */
    GPtrArray *executions; /* of struct execution (session_execution.h) */
    gint64 last_exec_id;
    void (*next_turn)(struct session *session); /* NULL: none waits */
    gint64 last_copy_id;
    gint64 last_question;
    guint stop_timer;
    unsigned writes;      /* pending file writes */
    const char *occupied; /* the excluding operation; static, or NULL */
    bool sharing;         /* a folder is being added or removed */
    unsigned policies;    /* changes of the network policy that are pending */
    bool warning_heard;   /* a client gets the warning that is being sent */
    bool network_unheard; /* no client got a warning of the network */
    unsigned lookups;     /* pending requests that hold the index of a folder */
    bool history_missed;  /* a history event was dropped because the frontend's
                             queue was full (session_undo.c) */
    GHashTable *undone;   /* step id -> set of folders (redo_units.h) */
    GPtrArray *guest_requests; /* pending (session_guest_steps.c) */
    guint64 guest_serial;
    GPtrArray *guest_records; /* of struct step_report, the newest steps */
    GPtrArray *questions;     /* pending decisions (session_guard.c) */
    GQueue patches;           /* of struct patch_job (session_patch.c) */
    GPtrArray *approvals;     /* pending (session_approval.h) */
    guint64 approval_serial;
    gint64 guest_asked_since; /* monotonic, us; how often the guest has asked */
    unsigned guest_asked;
    struct grant_restore *restore; /* kept grants of a start, or NULL
                                      (session_grants.c) */
};

/* Return why a state other than SESSION_RUNNING refuses requests, with the
 * remedy. */
const char *session_state_refusal(enum session_state state);

/* Send an event to all listeners. Return false if the first listener dropped
 * it. */
bool session_send(struct session *session, const struct session_event *event);

/* Send a warning (taken) about a folder, and keep it for fs.status. */
void session_warn(struct session *session, unsigned index,
                  struct folder_warning *warning);

/* Get the undo logs of a running session's folders. */
void session_get_logs(struct session *session, struct step_logs *ret_logs);

/* Fail with ERROR_NO_SESSION unless the session runs. */
gboolean session_check_running(struct session *session, GError **error);

/* The same, and fail with ERROR_STEP_ACTIVE while a step is open. */
gboolean session_check_idle(struct session *session, GError **error);

/* The machine has ended, or must end: put the session into the error state. */
void session_lose_machine(struct session *session, const GError *error);

/* End all commands with this error (borrowed). */
void session_fail_commands(struct session *session, const GError *error);

/* A command, a write or an undo is over: continue what waits for it, a stop or
 * the next command. */
void session_command_over(struct session *session);

/* Notify all listeners: the set of folders has changed; an execution has
 * started or is over; the network policy has changed; events of the network
 * are missing. */
void session_tell_folders(struct session *session);
void session_tell_exec(struct session *session, const struct exec_note *note);
void session_tell_policy(struct session *session);
void session_tell_missed(struct session *session, guint64 count);

#endif
