/* SPDX-License-Identifier: Apache-2.0
 *
 * stdio_api - see stdio_api.h.
 */
#include <config.h>

#include "agent/stdio/stdio_api.h"

#include "agent/base/runtime_dir.h"
#include "agent/mcp/mcp_session.h"
#include "agent/mcp/mcp_socket.h"
#include "agent/session/session.h"
#include "agent/stdio/api_client.h"
#include "agent/stdio/stdio_ops.h"
#include "agent/wire/status_json.h"
#include "common/errors.h"
#include "common/log.h"
#include "common/message.h"

enum {
    FLUSH_MS = 1000,
    STOP_RETRY_MS = 50,
};

struct stdio_api {
    struct session *session;
    struct api_client *frontend;
    const struct stdio_api_callbacks *callbacks;
    void *opaque;
    guint stop_source;

    struct mcp_session *mcp;
    struct runtime_dir *mcp_dir; /* or NULL */
    struct listener *mcp_socket;
};

static void on_closed(struct api_client *client, void *opaque)
{
    struct stdio_api *api = opaque;

    api->callbacks->closed(api->opaque);
}

static const struct api_client_callbacks client_callbacks = {
    .closed = on_closed,
};

/* ---- life ---------------------------------------------------------------- */

/* Open the socket for MCP clients, which may run in any folder. Returns its
 * path as a new string, or NULL on failure, which does not keep the frontend
 * from being served. */
static char *listen_for_mcp(struct stdio_api *api, const char *given)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = given ? g_canonicalize_filename(given, NULL) : NULL;

    if (!path && (api->mcp_dir = runtime_dir_new(NULL, &error)))
        path = runtime_dir_path(api->mcp_dir, "mcp.sock");
    if (api->mcp_dir && runtime_dir_note(api->mcp_dir))
        log_warn(LOG_MCP, "%s", runtime_dir_note(api->mcp_dir));
    if (path && !g_utf8_validate(path, -1, NULL))
        g_set_error_literal(&error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the path of the MCP socket is not UTF-8, so it "
                            "cannot be sent to clients");
    else if (path)
        api->mcp_socket = mcp_socket_new(mcp_session_server(api->mcp), path,
                                         &error);
    if (api->mcp_socket)
        return g_steal_pointer(&path);
    log_warn(LOG_MCP, "MCP clients are not served: %s", error->message);
    return NULL;
}

static void leave_mcp(struct stdio_api *api)
{
    g_clear_pointer(&api->mcp_socket, listener_free);
    g_clear_pointer(&api->mcp_dir, runtime_dir_free);
    mcp_session_close(api->mcp);
}

struct stdio_api *stdio_api_new(int in_fd, int out_fd, const char *log_level,
                                const char *mcp_socket,
                                const struct stdio_api_callbacks *callbacks,
                                void *opaque)
{
    struct stdio_api *api = g_new0(struct stdio_api, 1);
    g_autofree char *socket = NULL;

    api->callbacks = callbacks;
    api->opaque = opaque;
    api->session = session_new(log_level, NULL, NULL);
    api->frontend = api_client_new(in_fd, out_fd, api->session,
                                   &client_callbacks, api);
    api->mcp = mcp_session_new(api->session);
    socket = listen_for_mcp(api, mcp_socket);
    api_client_send(
        api->frontend,
        message_event("event.ready",
                      json_pack("{s:i, s:s, s:s?}", "protocol_version",
                                STDIO_API_PROTOCOL_VERSION, "agent_version",
                                PACKAGE_VERSION, "mcp_socket", socket)));
    return api;
}

void stdio_api_free(struct stdio_api *api)
{
    if (!api)
        return;
    g_clear_handle_id(&api->stop_source, g_source_remove);
    leave_mcp(api);
    session_end(api->session);
    mcp_session_free(api->mcp);
    api_client_flush(api->frontend, FLUSH_MS);
    api_client_free(api->frontend);
    session_free(api->session);
    g_free(api);
}

static gboolean try_stop(gpointer data)
{
    struct stdio_api *api = data;

    api->stop_source = 0;
    stdio_api_stop(api);
    return G_SOURCE_REMOVE;
}

static void on_stopped(const struct answer *answer, const GError *error,
                       void *opaque)
{
    struct stdio_api *api = opaque;

    /* Busy: the frontend has already requested the stop. */
    if (error && error_code_of(error) == ERROR_BUSY)
        api->stop_source = g_timeout_add(STOP_RETRY_MS, try_stop, api);
    else
        api->callbacks->stopped(api->opaque);
}

void stdio_api_stop(struct stdio_api *api)
{
    session_stop(api->session, on_stopped, api);
}

void stdio_api_kill(struct stdio_api *api)
{
    session_kill(api->session);
}

void stdio_api_log_counters(struct stdio_api *api)
{
    struct session_status status;

    session_get_status(api->session, &status);
    log_emit(LOG_LEVEL_INFO, LOG_STDIO_API, counters_to_json(&status.counters),
             "counters");
}
