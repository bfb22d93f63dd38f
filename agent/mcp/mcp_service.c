/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_service - see mcp_service.h.
 */
#include <config.h>

#include "agent/mcp/mcp_service.h"

#include <string.h>

#include "agent/mcp/mcp_copy.h"
#include "agent/mcp/mcp_elicit.h"
#include "agent/mcp/mcp_news.h"
#include "agent/mcp/mcp_resources.h"
#include "agent/wire/event_json.h"
#include "common/errors.h"

/* Generated from mcp_tools.json. */
static const char tools_text[] =
#include "agent/mcp/mcp_tools_text.h"
    ;

static const struct mcp_tool tool_table[] = {
    { "execute_command", mcp_tool_execute },
    { "read_file", mcp_tool_read_file },
    { "write_file", mcp_tool_write_file },
    { "edit_file", mcp_tool_edit_file },
    { "list_directory", mcp_tool_list_directory },
    { "undo", mcp_tool_undo },
    { "redo", mcp_tool_redo },
    { "diff", mcp_tool_diff },
    { "get_undo_history", mcp_tool_history },
    { "get_session_status", mcp_tool_status },
    { "start_process", mcp_tool_start_process },
    { "read_process", mcp_tool_read_process },
    { "write_process", mcp_tool_write_process },
    { "stop_process", mcp_tool_stop_process },
    { "list_processes", mcp_tool_list_processes },
    { "publish_port", mcp_tool_publish_port },
    { "unpublish_port", mcp_tool_unpublish_port },
    { "copy_in", mcp_tool_copy },
    { "copy_out", mcp_tool_copy },
    { "request_access", mcp_tool_request_access },
    { NULL, NULL },
};

static void handle_tools_list(struct mcp_call *call)
{
    mcp_tools_list(mcp_state_of(call)->tools, call);
}

static void handle_tools_call(struct mcp_call *call)
{
    mcp_tools_call(mcp_state_of(call)->tools, call);
}

static const struct mcp_method methods[] = {
    { "tools/list", MCP_BOTH, handle_tools_list },
    { "tools/call", MCP_BOTH, handle_tools_call },
    { "resources/list", MCP_BOTH, mcp_resources_list },
    { "resources/templates/list", MCP_BOTH, mcp_resources_templates },
    { "resources/read", MCP_BOTH, mcp_resources_read },
    { "completion/complete", MCP_BOTH, mcp_resources_complete },
    { NULL, 0, NULL },
};

static json_t *capabilities(enum mcp_version version)
{
    json_t *all = json_pack("{s:{}, s:{s:b, s:b}}", "tools", "resources",
                            "subscribe", 1, "listChanged", 1);

    if (version >= MCP_2025_03_26)
        json_object_set_new(all, "completions", json_object());
    return all;
}

static char *instructions(void *opaque)
{
    struct mcp_state *service = opaque;

    return service->host->instructions(service->host_opaque);
}

static const struct mcp_service stepback = {
    .name = "stepback",
    .title = "Stepback",
    .version = PACKAGE_VERSION,
    .description = "A sandbox with exact undo for a working folder",
    .instructions = instructions,
    .capabilities = capabilities,
    .methods = methods,
};

/* ---- life ---------------------------------------------------------------- */

struct mcp_state *mcp_service_new(const struct mcp_host *host, void *opaque,
                                  unsigned grace_ms)
{
    struct mcp_state *service = g_new0(struct mcp_state, 1);

    service->host = host;
    service->host_opaque = opaque;
    service->queue = mcp_queue_new();
    service->copies = mcp_copy_list_new();
    service->tools = mcp_tools_new(tools_text, tool_table);
    service->has_frontend = grace_ms > 0;
    service->elicit = mcp_elicit_new(service, grace_ms);
    service->server = mcp_server_new(&stepback, service);
    return service;
}

void mcp_service_close(struct mcp_state *service)
{
    mcp_server_close(service->server);
}

void mcp_service_free(struct mcp_state *service)
{
    if (!service)
        return;
    mcp_elicit_free(service->elicit);
    mcp_server_free(service->server);
    mcp_queue_free(service->queue);
    g_ptr_array_unref(service->copies);
    mcp_tools_free(service->tools);
    g_free(service);
}

struct mcp_server *mcp_service_server(struct mcp_state *service)
{
    return service->server;
}

/* ---- events -------------------------------------------------------------- */

/* Steps were undone or redone. */
static void steps_moved(struct mcp_state *service,
                        const struct session_event *event)
{
    if (event->truncated) {
        mcp_news_of_all(service);
        return;
    }
    for (guint i = 0; i < event->steps->len; i++)
        mcp_news_of_report(service, g_ptr_array_index(event->steps, i));
    mcp_news_of_history(service);
}

static void take_relayed(struct mcp_state *service, const char *type,
                         json_t *payload)
{
    if (strcmp(type, "event.external_modification") == 0 ||
        strcmp(type, "event.recovery") == 0) {
        mcp_news_of_engine(service, payload);
        mcp_news_of_history(service);
    } else if (strcmp(type, "event.safeguard_triggered") == 0) {
        service->denial = MCP_DENIED_BY_USER;
        mcp_elicit_triggered(service->elicit, payload);
    } else if (strcmp(type, "event.safeguard_decided") == 0) {
        if (g_strcmp0(json_string_value(json_object_get(payload, "reason")),
                      "timeout") == 0)
            service->denial = MCP_DENIED_UNANSWERED;
        mcp_elicit_decided(service->elicit, payload);
    }
}

/* Handle an event that is passed on in the form of the STDIO API. */
static void take_other(struct mcp_state *service,
                       const struct session_event *event)
{
    json_t *payload = event_payload_to_json(event);

    if (event->type == SESSION_EVENT_WARNING) {
        mcp_server_log(service->server, "warning", "stepback", payload);
        if (g_strcmp0(event->warning->code, "steps_evicted") == 0)
            mcp_news_of_history(service);
    } else if (event->type == SESSION_EVENT_ERROR) {
        mcp_server_log(service->server, "error", "stepback", payload);
    } else {
        take_relayed(service, event->name, payload);
    }
    json_decref(payload);
}

void mcp_service_take_event(struct mcp_state *service,
                            const struct session_event *event)
{
    switch (event->type) {
    case SESSION_EVENT_STEP_COMPLETED:
        mcp_news_of_report(service, event->report);
        mcp_news_of_history(service);
        break;
    case SESSION_EVENT_HISTORY:
        steps_moved(service, event);
        break;
    case SESSION_EVENT_COPY:
        mcp_copy_take_event(service->copies, event);
        break;
    case SESSION_EVENT_APPROVAL:
        mcp_elicit_take_approval(service->elicit, event->approval);
        break;
    case SESSION_EVENT_WARNING:
    case SESSION_EVENT_ERROR:
    case SESSION_EVENT_RELAYED:
        take_other(service, event);
        break;
    default:
        break;
    }
}

void mcp_service_take_folders(struct mcp_state *service)
{
    mcp_news_of_all(service);
}
