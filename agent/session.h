/* SPDX-License-Identifier: Apache-2.0
 *
 * session - the one session of the agent.
 *
 * States: stopped -> starting -> running -> stopping -> stopped; a machine
 * that is lost leads from running to error, which session_stop() leaves. One
 * command runs at a time.
 *
 * Every operation answers exactly once, by its done, never before it returns.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_H
#define AGENT_SESSION_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/reply.h"
#include "agent/session_config.h"

struct session;

struct session_callbacks {
    /* An event for the frontend; payload is taken. droppable: output, of which
     * a part may be lost. False if it was dropped. */
    bool (*event)(const char *type, json_t *payload, bool droppable,
                  void *opaque);
};

struct session *session_new(const char *log_level,
                            const struct session_callbacks *callbacks,
                            void *opaque);
/* What still runs is killed; operations that wait are answered. */
void session_free(struct session *session);

/* config is taken. ERROR_SESSION_ACTIVE, and as in machine.h. */
void session_start(struct session *session, struct session_config *config,
                   reply_done done, void *opaque);

/* End the session in order; a command that runs is cancelled first. */
void session_stop(struct session *session, reply_done done, void *opaque);

/* End what runs at once. A session_stop() under way then ends soon. */
void session_kill(struct session *session);

/* {"state":...} and what is known of the machine. A new reference. */
json_t *session_status(const struct session *session);

struct session_command {
    const char *command, *cwd; /* cwd: NULL for the working folder */
    json_t *env;               /* object of strings, or NULL */
    unsigned timeout_seconds;  /* 0: none */
};

/* Run a command: the answer is its report. All borrowed for the call. */
void session_execute(struct session *session,
                     const struct session_command *command, reply_done done,
                     void *opaque);

/* Cancel the command. False if none runs. */
bool session_cancel(struct session *session);

void session_rollback(struct session *session, unsigned steps, bool force,
                      reply_done done, void *opaque);
void session_history(struct session *session, unsigned limit, reply_done done,
                     void *opaque);

/* An O_PATH fd of the working folder. Borrowed; -1 and error
 * (ERROR_NO_SESSION) if no session runs. */
int session_folder_fd(struct session *session, GError **error);

#endif
