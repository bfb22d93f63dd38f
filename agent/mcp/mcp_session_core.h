/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_session_core - the object behind mcp_session.h, its requests to the
 * session and the start of an own session; private to mcp_session*.c.
 */
#ifndef AGENT_MCP_MCP_SESSION_CORE_H
#define AGENT_MCP_MCP_SESSION_CORE_H

#include "agent/mcp/mcp_host.h"

/* A request to the session. */
struct operation {
    struct mcp_session *host;
    void (*run)(struct operation *operation);
    struct reply reply;

    struct command *command;
    struct folder_ref directory;
    char *folder; /* its label */
    struct file_write *write;
    GPtrArray *paths; /* to restore, of char * */
    unsigned count;
    struct undo_extent extent;
    struct patch_request patch;
    char **patch_paths;
};

struct mcp_session {
    struct session *session;
    struct mcp_state *service;

    /* Makes a configuration. NULL: a frontend starts the session. */
    struct session_config *(*make)(const void *opaque, GError **error);
    const void *make_opaque;
    int folder_fd; /* used for reads while the session does not run, or -1 */
    bool starting;
    struct operation *waiting;
    char *start_error; /* of the last start, or NULL */

    bool executing; /* our command was accepted and is not yet answered */
    gint64 step_id; /* of our command; 0: unknown yet */
    struct step_report *report; /* of our command, or NULL */
    mcp_host_output output;
    void *output_opaque;
};

/* directory's name is copied. */
struct operation *mcp_operation_new(struct mcp_session *host,
                                    void (*run)(struct operation *),
                                    struct folder_ref directory,
                                    reply_done done, void *opaque);

/* A reply_done: answer the caller and free the operation, which is opaque. */
void mcp_operation_answer(const struct answer *answer, const GError *error,
                          void *opaque);

/* Start an own session; config is taken. */
void mcp_session_begin(struct mcp_session *host, struct session_config *config);

enum session_state mcp_session_state(const struct mcp_session *host);

/* Run the operation; before that, start an own session that does not run. */
void mcp_session_carry_out(struct operation *operation);

#endif
