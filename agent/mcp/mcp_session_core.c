/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_session_core - see mcp_session_core.h.
 *
 * The service sends one request at a time, so at most one operation waits for a
 * session start ("waiting") or is in progress.
 */
#include "agent/mcp/mcp_session_core.h"

#include "agent/session/session.h"
#include "common/errors.h"
#include "common/log.h"

/* ---- operations ---------------------------------------------------------- */

static void operation_free(struct operation *operation)
{
    command_free(operation->command);
    g_free(operation->folder);
    file_write_free(operation->write);
    g_clear_pointer(&operation->paths, g_ptr_array_unref);
    g_strfreev(operation->patch_paths);
    g_free(operation);
}

struct operation *mcp_operation_new(struct mcp_session *host,
                                    void (*run)(struct operation *),
                                    struct folder_ref directory,
                                    reply_done done, void *opaque)
{
    struct operation *operation = g_new0(struct operation, 1);

    operation->host = host;
    operation->run = run;
    operation->directory = directory;
    operation->directory.name = operation->folder = g_strdup(directory.name);
    operation->reply = (struct reply){ done, opaque };
    return operation;
}

void mcp_operation_answer(const struct answer *answer, const GError *error,
                          void *opaque)
{
    struct operation *operation = opaque;

    reply_send(&operation->reply, answer, error);
    operation_free(operation);
}

/* ---- starting an own session --------------------------------------------- */

static void start(struct mcp_session *host);

static void start_over(struct mcp_session *host, const GError *error)
{
    struct operation *operation = g_steal_pointer(&host->waiting);

    host->starting = false;
    g_clear_pointer(&host->start_error, g_free);
    if (error && error_code_of(error) != ERROR_CANCELLED) {
        host->start_error = g_strdup(error->message);
        log_warn(LOG_MCP, "the session is not running: %s", error->message);
    }
    if (!operation)
        return;
    if (error)
        mcp_operation_answer(NULL, error, operation);
    else
        operation->run(operation);
}

static void on_started(const struct answer *answer, const GError *error,
                       void *opaque)
{
    start_over(opaque, error);
}

void mcp_session_begin(struct mcp_session *host, struct session_config *config)
{
    host->starting = true;
    session_start(host->session, config, on_started, host);
}

static void on_broken_stopped(const struct answer *answer, const GError *error,
                              void *opaque)
{
    start(opaque);
}

enum session_state mcp_session_state(const struct mcp_session *host)
{
    struct session_status status;

    session_get_status(host->session, &status);
    return status.state;
}

static void start(struct mcp_session *host)
{
    g_autoptr(GError) error = NULL;
    struct session_config *config;

    host->starting = true;
    if (mcp_session_state(host) == SESSION_BROKEN) {
        session_stop(host->session, on_broken_stopped, host);
        return;
    }
    config = host->make(host->make_opaque, &error);
    if (config)
        mcp_session_begin(host, config);
    else
        start_over(host, error);
}

void mcp_session_carry_out(struct operation *operation)
{
    struct mcp_session *host = operation->host;
    bool running = mcp_session_state(host) == SESSION_RUNNING;

    if (!host->make || (running && !host->starting)) {
        operation->run(operation);
        return;
    }
    host->waiting = operation;
    if (!host->starting)
        start(host);
}
