/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp-everything - an MCP server for the protocol's conformance suite.
 *
 *     mcp-everything DEFINITIONS SOCKET
 *
 * It has the tools, prompts and resources that the suite requires, over the
 * agent's own protocol layer. They are data (tests/mcp/everything.json):
 * constant results, and questions to the client, in rounds. "$name" in these
 * stands for an argument of the call.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "agent/mcp/mcp_server.h"
#include "agent/mcp/mcp_socket.h"
#include "agent/mcp/mcp_tools.h"

enum { MISSING_CAPABILITY = -32021, STEP_MS = 50 };

static json_t *definitions;
static struct mcp_tools *tools;

/* A call in progress. */
struct run {
    struct mcp_call *call;
    json_t *arguments; /* borrowed */
    json_t *rounds;    /* borrowed */
    json_t *answers;
    size_t round;
    unsigned step; /* of progress or log */
    bool cancelled;
};

static json_t *get(const char *table, const char *key)
{
    return json_object_get(json_object_get(definitions, table), key);
}

/* A copy with "$name" replaced by arguments. */
static json_t *fill(json_t *value, json_t *arguments)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    g_autoptr(GString) filled = g_string_new(text);
    const char *key;
    json_t *argument, *result;

    json_object_foreach(arguments, key, argument)
    {
        g_autofree char *mark = g_strdup_printf("$%s", key);
        char *quoted = json_dumps(argument, JSON_ENCODE_ANY);

        if (json_is_string(argument)) {
            quoted[strlen(quoted) - 1] = '\0';
            g_string_replace(filled, mark, quoted + 1, 0);
        }
        free(quoted);
    }
    result = json_loads(filled->str, JSON_DECODE_ANY, NULL);
    free(text);
    return result;
}

/* ---- what takes time, or asks -------------------------------------------- */

static const char *name_of(struct mcp_call *call)
{
    return json_string_value(json_object_get(mcp_call_params(call), "name"));
}

static void finish(struct run *run)
{
    struct mcp_call *call = run->call;
    json_t *result = get(strcmp(mcp_call_method(call), "prompts/get") == 0
                             ? "prompt_results"
                             : "results",
                         name_of(call));
    char *text = json_dumps(run->answers, 0);
    g_autofree char *all = g_strdup_printf("state-ok; answers: %s", text);

    if (result)
        result = fill(result, run->arguments);
    else
        result = json_pack("{s:[{s:s, s:s}]}", "content", "type", "text",
                           "text", all);
    free(text);
    json_decref(run->answers);
    g_free(run);
    mcp_call_finish(call, result);
}

static void on_cancelled(struct mcp_call *call, void *opaque)
{
    struct run *run = opaque;

    run->cancelled = true;
    if (run->rounds) /* otherwise the timer ends it */
        finish(run);
}

static const char *capability_of(json_t *question)
{
    const char *method = json_string_value(json_object_get(question, "method"));

    return strcmp(method, "elicitation/create") == 0       ? "elicitation"
           : strcmp(method, "sampling/createMessage") == 0 ? "sampling"
                                                           : "roots";
}

static void next_round(struct run *run);

static void on_answered(struct mcp_call *call, json_t *answers, void *opaque)
{
    struct run *run = opaque;

    json_object_update(run->answers, answers);
    next_round(run);
}

/* Return the questions of this round that the client supports and has not
 * answered. */
static json_t *open_questions(struct run *run)
{
    json_t *round = fill(json_array_get(run->rounds, run->round),
                         run->arguments);
    json_t *given = json_object_get(mcp_call_params(run->call),
                                    "inputResponses");
    json_t *questions = json_object(), *question;
    const char *key;

    json_object_foreach(round, key, question)
    {
        json_t *answer = json_object_get(given, key);

        if (json_is_object(answer))
            json_object_set(run->answers, key, answer);
        else if (mcp_call_can(run->call, capability_of(question)))
            json_object_set(questions, key, question);
    }
    json_decref(round);
    return questions;
}

static void next_round(struct run *run)
{
    while (run->round < json_array_size(run->rounds)) {
        json_t *questions = open_questions(run);

        run->round++;
        if (json_object_size(questions) == 0)
            json_decref(questions);
        else if (mcp_call_ask(run->call, questions, on_answered, run))
            return;
    }
    finish(run);
}

static gboolean on_step(gpointer data)
{
    struct run *run = data;

    if (!run->cancelled && run->step < 3) {
        mcp_call_log(run->call, "info", "everything",
                     json_pack("{s:i}", "step", run->step));
        mcp_call_progress(run->call, run->step * 50, 100, "on the way");
        run->step++;
        return G_SOURCE_CONTINUE;
    }
    finish(run);
    return G_SOURCE_REMOVE;
}

static void start(struct mcp_call *call, json_t *arguments)
{
    struct run *run = g_new0(struct run, 1);

    run->call = call;
    run->arguments = arguments;
    run->answers = json_object();
    run->rounds = get("asks", name_of(call));
    mcp_call_set_cancelled(call, on_cancelled, run);
    if (run->rounds)
        next_round(run);
    else
        g_timeout_add(STEP_MS, on_step, run);
}

static void run_tool(struct mcp_call *call, json_t *arguments)
{
    const char *name = name_of(call);

    if (strcmp(name, "test_missing_capability") == 0 &&
        !mcp_call_can(call, "sampling"))
        mcp_call_fail(
            call, MISSING_CAPABILITY,
            json_pack("{s:{s:{}}}", "requiredCapabilities", "sampling"),
            "this needs a model");
    else
        start(call, arguments);
}

/* ---- methods ------------------------------------------------------------- */

static void tools_list(struct mcp_call *call)
{
    mcp_tools_list(tools, call);
}

static void tools_call(struct mcp_call *call)
{
    mcp_tools_call(tools, call);
}

static void list(struct mcp_call *call, const char *table, const char *key)
{
    mcp_call_finish_cached(
        call, json_pack("{s:O}", key, json_object_get(definitions, table)),
        1000);
}

static void prompts_list(struct mcp_call *call)
{
    list(call, "prompts", "prompts");
}

static void resources_list(struct mcp_call *call)
{
    list(call, "resources", "resources");
}

static void templates_list(struct mcp_call *call)
{
    list(call, "templates", "resourceTemplates");
}

static void prompts_get(struct mcp_call *call)
{
    json_t *params = mcp_call_params(call);
    const char *name = name_of(call);

    if (name && get("prompt_results", name))
        start(call, json_object_get(params, "arguments"));
    else
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL, "no such prompt");
}

static void resources_read(struct mcp_call *call)
{
    const char *uri = json_string_value(
        json_object_get(mcp_call_params(call), "uri"));
    json_t *contents = uri ? get("contents", uri) : NULL;

    if (!contents) {
        mcp_call_fail(call,
                      mcp_call_version(call) >= MCP_MODERN
                          ? MCP_RPC_INVALID_PARAMS
                          : MCP_RPC_NO_RESOURCE,
                      json_pack("{s:s?}", "uri", uri), "no such resource");
        return;
    }
    contents = json_copy(contents);
    json_object_set_new(contents, "uri", json_string(uri));
    mcp_call_finish_cached(call, json_pack("{s:[o]}", "contents", contents),
                           1000);
}

static void complete(struct mcp_call *call)
{
    mcp_call_finish(call,
                    json_pack("{s:{s:[s], s:i, s:b}}", "completion", "values",
                              "test", "total", 1, "hasMore", 0));
}

static const struct mcp_method methods[] = {
    { "tools/list", MCP_BOTH, tools_list },
    { "tools/call", MCP_BOTH, tools_call },
    { "prompts/list", MCP_BOTH, prompts_list },
    { "prompts/get", MCP_BOTH, prompts_get },
    { "resources/list", MCP_BOTH, resources_list },
    { "resources/templates/list", MCP_BOTH, templates_list },
    { "resources/read", MCP_BOTH, resources_read },
    { "completion/complete", MCP_BOTH, complete },
    { NULL, 0, NULL },
};

static json_t *capabilities(enum mcp_version version)
{
    return json_pack("{s:{}, s:{}, s:{s:b}, s:{}}", "tools", "prompts",
                     "resources", "subscribe", 1, "completions");
}

static const struct mcp_service service = {
    .name = "everything",
    .version = "1",
    .capabilities = capabilities,
    .methods = methods,
};

int main(int argc, char **argv)
{
    json_t *list, *definition;
    struct mcp_server *server;
    struct mcp_tool *table;
    char *text;
    size_t i;

    definitions = argc == 3 ? json_load_file(argv[1], 0, NULL) : NULL;
    if (!definitions) {
        fprintf(stderr, "usage: mcp-everything DEFINITIONS SOCKET\n");
        return 2;
    }
    list = json_object_get(definitions, "tools");
    table = g_new0(struct mcp_tool, json_array_size(list) + 1);
    json_array_foreach(list, i, definition)
    {
        table[i].name = json_string_value(json_object_get(definition, "name"));
        table[i].run = run_tool;
    }
    text = json_dumps(list, 0);
    tools = mcp_tools_new(text, table);
    free(text);
    server = mcp_server_new(&service, NULL);
    if (!mcp_socket_new(server, argv[2], NULL))
        return 1;
    g_main_loop_run(g_main_loop_new(NULL, FALSE));
    return 0;
}
