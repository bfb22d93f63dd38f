/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_tools - see mcp_tools.h.
 */
#include "agent/mcp/mcp_tools.h"

#include <string.h>

#include "agent/mcp/mcp_schema.h"
#include "common/log.h"

enum { LIST_TTL_MS = 3600 * 1000 };

struct mcp_tools {
    json_t *definitions; /* an array */
    const struct mcp_tool *table;
};

struct mcp_tools *mcp_tools_new(const char *text, const struct mcp_tool *table)
{
    struct mcp_tools *tools = g_new0(struct mcp_tools, 1);
    json_error_t error;

    tools->definitions = json_loads(text, 0, &error);
    if (!tools->definitions) /* the text is compiled in */
        g_error("tools: line %d: %s", error.line, error.text);
    tools->table = table;
    return tools;
}

void mcp_tools_free(struct mcp_tools *tools)
{
    if (!tools)
        return;
    json_decref(tools->definitions);
    g_free(tools);
}

/* Copy a definition without the members that a version does not have. */
static json_t *definition_for(json_t *definition, enum mcp_version version)
{
    json_t *copy = json_copy(definition);

    if (version < MCP_2025_06_18) {
        json_object_del(copy, "title");
        json_object_del(copy, "outputSchema");
    }
    if (version < MCP_2025_03_26)
        json_object_del(copy, "annotations");
    return copy;
}

void mcp_tools_list(struct mcp_tools *tools, struct mcp_call *call)
{
    json_t *list = json_array(), *definition;
    size_t i;

    /* The list is a single page, so this server has issued no cursor. */
    if (json_object_get(mcp_call_params(call), "cursor")) {
        json_decref(list);
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL,
                      "'cursor' is not one that this server issued");
        return;
    }
    json_array_foreach(tools->definitions, i, definition)
    {
        json_array_append_new(
            list, definition_for(definition, mcp_call_version(call)));
    }
    mcp_call_finish_cached(call, json_pack("{s:o}", "tools", list),
                           LIST_TTL_MS);
}

static json_t *find_definition(const struct mcp_tools *tools, const char *name)
{
    json_t *definition;
    size_t i;

    json_array_foreach(tools->definitions, i, definition)
    {
        if (strcmp(json_string_value(json_object_get(definition, "name")),
                   name) == 0)
            return definition;
    }
    return NULL;
}

static const struct mcp_tool *find_tool(const struct mcp_tools *tools,
                                        const char *name)
{
    const struct mcp_tool *tool = tools->table;

    while (tool->name && strcmp(tool->name, name) != 0)
        tool++;
    return tool->name ? tool : NULL;
}

void mcp_tools_call(struct mcp_tools *tools, struct mcp_call *call)
{
    json_t *params = mcp_call_params(call);
    const char *name = json_string_value(json_object_get(params, "name"));
    json_t *definition = name ? find_definition(tools, name) : NULL;
    const struct mcp_tool *tool = definition ? find_tool(tools, name) : NULL;
    json_t *arguments = json_object_get(params, "arguments");
    g_autofree char *problem = NULL;

    if (!name || !tool) {
        mcp_call_fail(call, MCP_RPC_INVALID_PARAMS, NULL,
                      "Unknown tool: %.100s", name ? name : "(no name)");
        return;
    }
    if (!arguments) {
        arguments = json_object();
        json_object_set_new(params, "arguments", arguments);
    }
    log_info(LOG_MCP, "tool %s", tool->name);
    problem = mcp_schema_check(json_object_get(definition, "inputSchema"),
                               arguments);
    if (problem)
        mcp_tools_refuse(call, "%s: %s", tool->name, problem);
    else
        tool->run(call, arguments);
}

/* structured is taken. */
static void finish(struct mcp_call *call, char *text, json_t *structured,
                   bool is_error)
{
    json_t *item = json_pack("{s:s}", "type", "text");
    json_t *result;

    json_object_set_new(item, "text", json_string(text));
    result = json_pack("{s:[o]}", "content", item);
    if (structured && mcp_call_version(call) >= MCP_2025_06_18)
        json_object_set(result, "structuredContent", structured);
    if (is_error)
        json_object_set_new(result, "isError", json_true());
    json_decref(structured);
    mcp_call_finish(call, result);
}

void mcp_tools_finish(struct mcp_call *call, char *text, json_t *structured)
{
    finish(call, text, structured, false);
    g_free(text);
}

void mcp_tools_fail(struct mcp_call *call, const char *sentence, char *text,
                    json_t *structured)
{
    g_autofree char *valid = g_utf8_make_valid(sentence, -1);
    g_autofree char *both = g_strconcat(valid, text ? "\n" : NULL, text, NULL);

    log_info(LOG_MCP, "the tool says: %s", valid);
    finish(call, both, structured, true);
    g_free(text);
}

void mcp_tools_refuse(struct mcp_call *call, const char *format, ...)
{
    g_autofree char *text = NULL, *valid = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    valid = g_utf8_make_valid(text, -1);
    log_info(LOG_MCP, "the tool says: %s", valid);
    finish(call, valid, NULL, true);
}
