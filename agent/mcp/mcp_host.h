/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_host - the interface between Stepback's tools and a session.
 *
 * All answers arrive through a reply_done (reply.h), exactly once, and never
 * before the call returns. The service sends one request at a time, but a
 * frontend may use the session concurrently (ERROR_BUSY, ERROR_STEP_ACTIVE).
 *
 * directory refers to a working folder, as in session.h.
 */
#ifndef AGENT_MCP_MCP_HOST_H
#define AGENT_MCP_MCP_HOST_H

#include <glib.h>
#include <stdbool.h>

#include "agent/base/command.h"
#include "agent/base/file_write.h"
#include "agent/base/folder_ref.h"
#include "agent/base/reply.h"
#include "agent/session/session.h"

enum { MCP_HOST_WRITE_MAX = 8 << 20 }; /* maximum bytes of write_file */

/* Output of the command (borrowed). */
typedef void (*mcp_host_output)(const struct command_output *output,
                                void *opaque);

struct mcp_host {
    /* Run a command (taken). The answer is the step's report; with an error
     * too, if a step was opened. */
    void (*execute)(void *host, struct command *command, mcp_host_output output,
                    reply_done done, void *opaque);
    /* Stop the command that execute started; its answer follows. */
    void (*cancel)(void *host);
    /* write is taken. */
    void (*write_file)(void *host, struct folder_ref directory,
                       struct file_write *write, reply_done done, void *opaque);
    void (*history)(void *host, struct folder_ref directory, unsigned limit,
                    reply_done done, void *opaque);
    void (*rollback)(void *host, struct folder_ref directory,
                     const struct undo_extent *extent, reply_done done,
                     void *opaque);
    /* Undo by path, as session_restore(); paths are of char *. */
    void (*restore)(void *host, struct folder_ref directory,
                    const struct undo_extent *extent, const GPtrArray *paths,
                    reply_done done, void *opaque);
    void (*redo)(void *host, struct folder_ref directory,
                 const struct undo_extent *extent, reply_done done,
                 void *opaque);
    /* As session_patch(); request is borrowed. */
    void (*diff)(void *host, struct folder_ref directory,
                 const struct patch_request *request, reply_done done,
                 void *opaque);
    /* Start an own session that does not run, and answer; for a session that
     * runs, or is a frontend's, before the call returns. */
    void (*ready)(void *host, reply_done done, void *opaque);
    /* Return the session, borrowed: for executions, ports and copies. */
    struct session *(*session)(void *host);
    /* Return the server's instructions (mcp_guest.h): a new string. */
    char *(*instructions)(void *host);
    /* Get the status. Returns why the last start failed, or NULL. All borrowed,
     * as in session.h. */
    const char *(*get_status)(void *host, struct session_status *ret_status);
    /* Return the folder's fd, borrowed until the next of these calls; -1 and
     * error on failure. */
    int (*folder_fd)(void *host, struct folder_ref directory, GError **error);
    /* Pass on the client user's decision about a safeguard, or a connection;
     * always: of a connection (session_approval_decide()); if that fails, the
     * user is asked again, or it is allowed once, with a warning. */
    void (*decide)(void *host, const char *id, bool allow, bool always);
};

#endif
