/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_service - see mcp_service.h.
 */
#include <config.h>

#include "agent/mcp/mcp_service.h"

#include <string.h>

#include "agent/mcp/mcp_elicit.h"
#include "agent/mcp/mcp_news.h"
#include "agent/mcp/mcp_resources.h"
#include "common/errors.h"
#include "shim/wire.h"

enum { CHANGES_SHOWN = 100 };

/* Made of mcp_tools.json. */
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
    { "get_undo_history", mcp_tool_history },
    { "get_session_status", mcp_tool_status },
    { NULL, NULL },
};

static void handle_tools_list(struct mcp_call *call)
{
    mcp_tools_list(mcp_service_of(call)->tools, call);
}

static void handle_tools_call(struct mcp_call *call)
{
    mcp_tools_call(mcp_service_of(call)->tools, call);
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

static const struct mcp_service stepback = {
    .name = "stepback",
    .title = "Stepback",
    .version = PACKAGE_VERSION,
    .description = "A sandbox with exact undo for a working folder",
    .instructions =
        "Commands run in a Linux virtual machine that sees the user's working "
        "folder as " WIRE_DEFAULT_CWD ". Each command and each file that is "
        "written is a step; a result's step_id is the handle to take it back, "
        "with all newer steps, by the tool 'undo'. Paths of files are relative "
        "to the working folder.",
    .capabilities = capabilities,
    .methods = methods,
};

/* ---- life ---------------------------------------------------------------- */

struct mcp_service_state *mcp_service_new(const struct mcp_host *host,
                                          void *opaque, unsigned grace_ms)
{
    struct mcp_service_state *service = g_new0(struct mcp_service_state, 1);

    service->host = host;
    service->host_opaque = opaque;
    service->queue = mcp_queue_new();
    service->tools = mcp_tools_new(tools_text, tool_table);
    service->elicit = mcp_elicit_new(service, grace_ms);
    service->server = mcp_server_new(&stepback, service);
    return service;
}

void mcp_service_close(struct mcp_service_state *service)
{
    mcp_server_close(service->server);
}

void mcp_service_free(struct mcp_service_state *service)
{
    if (!service)
        return;
    mcp_elicit_free(service->elicit);
    mcp_server_free(service->server);
    mcp_queue_free(service->queue);
    mcp_tools_free(service->tools);
    g_free(service);
}

struct mcp_server *mcp_service_server(struct mcp_service_state *service)
{
    return service->server;
}

struct mcp_service_state *mcp_service_of(const struct mcp_call *call)
{
    return mcp_call_service(call);
}

/* ---- events -------------------------------------------------------------- */

/* Steps were taken back or brought again. */
static void steps_moved(struct mcp_service_state *service, json_t *payload)
{
    json_t *report;
    size_t i;

    if (json_is_true(json_object_get(payload, "truncated"))) {
        mcp_news_of_all(service);
        return;
    }
    json_array_foreach(json_object_get(payload, "steps"), i, report)
    {
        mcp_news_of_report(service, report);
    }
    mcp_news_of_history(service);
}

static bool has_code(json_t *warning, const char *code)
{
    return g_strcmp0(json_string_value(json_object_get(warning, "code")),
                     code) == 0;
}

void mcp_service_take_event(struct mcp_service_state *service, const char *type,
                            json_t *payload)
{
    if (strcmp(type, "event.step_completed") == 0) {
        mcp_news_of_report(service, payload);
        mcp_news_of_history(service);
    } else if (strcmp(type, "event.history_changed") == 0) {
        steps_moved(service, payload);
    } else if (strcmp(type, "event.external_modification") == 0 ||
               strcmp(type, "event.recovery") == 0) {
        mcp_news_of_report(service, payload);
        mcp_news_of_history(service);
    } else if (strcmp(type, "event.safeguard_triggered") == 0) {
        service->denial = MCP_DENIED_BY_USER;
        mcp_elicit_triggered(service->elicit, payload);
    } else if (strcmp(type, "event.safeguard_decided") == 0) {
        if (g_strcmp0(json_string_value(json_object_get(payload, "reason")),
                      "timeout") == 0)
            service->denial = MCP_DENIED_UNANSWERED;
        mcp_elicit_decided(service->elicit, payload);
    } else if (strcmp(type, "event.warning") == 0) {
        mcp_server_log(service->server, "warning", "stepback", payload);
        if (has_code(payload, "steps_evicted"))
            mcp_news_of_history(service);
    } else if (strcmp(type, "event.error") == 0) {
        mcp_server_log(service->server, "error", "stepback", payload);
    }
}

void mcp_service_take_folders(struct mcp_service_state *service)
{
    mcp_news_of_all(service);
}

/* ---- errors -------------------------------------------------------------- */

static const struct {
    int code;
    const char *text;
} advice[] = {
    { ERROR_NO_SESSION, "get_session_status tells more" },
    { ERROR_NOTHING_TO_UNDO,
      "get_undo_history lists the steps that there are" },
    { ERROR_UNDO_BARRIER,
      "somebody else has edited since: ask the user, and only if they agree "
      "call undo again with \"force\": true" },
    { ERROR_STEP_UNPROTECTED,
      "it changed more than was kept, so it cannot be taken back" },
    { ERROR_STEP_ACTIVE, "try again when it has ended" },
    { ERROR_BUSY, "try again when it has ended" },
    { ERROR_PATH_OUTSIDE_ROOT,
      "give a path below the working folder, relative to it" },
    { ERROR_NOT_FOUND, "list_directory shows what is there" },
    { ERROR_READ_ONLY_DIRECTORY, "the user has shared this folder to be read" },
};

/* By enum mcp_denial. */
static const char *const denials[] = {
    "the user has denied it; ask before you try something like it again",
    "the user has not answered; ask before you try it again",
    ("it needs the user's leave, and this client cannot ask for it "
     "(elicitation); tell the user what you want to do, and why"),
};

char *mcp_service_advice(const struct mcp_call *call, const GError *error)
{
    int code = error_code_of(error);

    if (code == ERROR_DENIED)
        return g_strdup_printf("%s (%s)", error->message,
                               denials[mcp_service_of(call)->denial]);
    for (size_t i = 0; i < G_N_ELEMENTS(advice); i++) {
        if (advice[i].code == code)
            return g_strdup_printf("%s (%s)", error->message, advice[i].text);
    }
    return g_strdup(error->message);
}

void mcp_service_refuse(struct mcp_call *call, const GError *error)
{
    g_autofree char *text = mcp_service_advice(call, error);

    mcp_tools_refuse(call, NULL, "%s", text);
}

/* ---- reports ------------------------------------------------------------- */

static void cut_array(json_t *object, const char *key, size_t max)
{
    json_t *all = json_object_get(object, key);
    json_t *some;

    if (json_array_size(all) <= max)
        return;
    some = json_array();
    for (size_t i = 0; i < max; i++)
        json_array_append(some, json_array_get(all, i));
    json_object_set_new(object, key, some);
    json_object_set_new(object, "truncated", json_true());
}

json_t *mcp_service_report(json_t *report)
{
    json_t *copy = report ? json_copy(report) : json_object();

    /* The same as in "changes". */
    json_object_del(copy, "affected_paths");
    json_object_del(copy, "dropped_output_events");
    if (!json_object_get(copy, "changes"))
        json_object_set_new(copy, "changes", json_array());
    if (!json_object_get(copy, "undoable"))
        json_object_set_new(copy, "undoable", json_false());
    if (!json_object_get(copy, "truncated"))
        json_object_set_new(copy, "truncated", json_false());
    cut_array(copy, "changes", CHANGES_SHOWN);
    return copy;
}

/* ---- paths --------------------------------------------------------------- */

/* The rest of path below folder, or NULL. */
static const char *rest_below(const char *path, const char *folder)
{
    const char *rest = path + strlen(folder);

    if (!g_str_has_prefix(path, folder) || (*rest && *rest != '/'))
        return NULL;
    while (*rest == '/')
        rest++;
    return rest;
}

struct mcp_place mcp_service_place(struct mcp_service_state *service,
                                   json_t *arguments)
{
    const char *path = json_string_value(json_object_get(arguments, "path"));
    json_t *given = json_object_get(arguments, "directory");
    struct mcp_place place = { path ? path : "", json_incref(given) };
    json_t *status, *folder;
    size_t i;

    if (given || !g_str_has_prefix(place.path, WIRE_DEFAULT_CWD))
        return place;
    status = service->host->status(service->host_opaque);
    json_array_foreach(json_object_get(status, "working_directories"), i,
                       folder)
    {
        const char *guest_path = json_string_value(
            json_object_get(folder, "guest_path"));
        const char *rest = guest_path ? rest_below(path, guest_path) : NULL;

        if (rest) {
            place.path = rest;
            place.directory = i > 0 ? json_integer((json_int_t)i) : NULL;
        }
    }
    /* Nothing runs yet; then there is one folder, or nothing to be read. */
    if (!json_object_get(status, "working_directories") &&
        rest_below(path, WIRE_DEFAULT_CWD))
        place.path = rest_below(path, WIRE_DEFAULT_CWD);
    json_decref(status);
    return place;
}
