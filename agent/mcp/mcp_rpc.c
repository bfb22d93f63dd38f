/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_rpc - see mcp_rpc.h.
 */
#include "agent/mcp/mcp_rpc.h"

#include <string.h>

bool mcp_rpc_is_id(json_t *id)
{
    return json_is_integer(id) ||
           (json_is_string(id) && json_string_length(id) <= MCP_RPC_ID_MAX);
}

static void invalid(struct mcp_rpc *rpc, const char *problem)
{
    rpc->kind = MCP_RPC_INVALID;
    rpc->problem = problem;
}

static void parse_call(json_t *message, json_t *method, struct mcp_rpc *rpc)
{
    rpc->kind = rpc->id ? MCP_RPC_REQUEST : MCP_RPC_NOTIFICATION;
    rpc->method = json_string_value(method);
    rpc->params = json_object_get(message, "params");
    if (!rpc->method || json_string_length(method) > MCP_RPC_METHOD_MAX)
        invalid(rpc, "'method' must be a string of at most 128 bytes");
    else if (rpc->params && !json_is_object(rpc->params))
        invalid(rpc, "'params' must be an object");
}

void mcp_rpc_parse(json_t *message, struct mcp_rpc *ret)
{
    json_t *id = json_object_get(message, "id");
    json_t *method = json_object_get(message, "method");
    const char *version = json_string_value(
        json_object_get(message, "jsonrpc"));

    *ret = (struct mcp_rpc){ .id = mcp_rpc_is_id(id) ? id : NULL };
    if (!json_is_object(message))
        invalid(ret, "a message must be an object");
    else if (!version || strcmp(version, "2.0") != 0)
        invalid(ret, "'jsonrpc' must be \"2.0\"");
    else if (id && !ret->id)
        invalid(ret, "'id' must be an integer or a string of at most 256 "
                     "bytes");
    else if (method)
        parse_call(message, method, ret);
    else {
        ret->kind = MCP_RPC_RESPONSE;
        ret->result = json_object_get(message, "result");
        ret->error = json_object_get(message, "error");
        if (!ret->id || !ret->result == !ret->error)
            invalid(ret, "a message needs a 'method', or an 'id' with either "
                         "'result' or 'error'");
    }
}

char *mcp_rpc_id_key(json_t *id)
{
    if (json_is_integer(id))
        return g_strdup_printf("n%" JSON_INTEGER_FORMAT,
                               json_integer_value(id));
    return g_strdup_printf("s%s", json_string_value(id));
}

static json_t *new_message(json_t *id)
{
    json_t *message = json_pack("{s:s}", "jsonrpc", "2.0");

    if (id)
        json_object_set(message, "id", id);
    return message;
}

json_t *mcp_rpc_error(json_t *id, int code, const char *text, json_t *data)
{
    json_t *message = new_message(id);
    json_t *error = json_pack("{s:i, s:o*}", "code", code, "data", data);

    g_autofree char *valid = g_utf8_make_valid(text, -1);

    json_object_set_new(error, "message", json_string(valid));
    json_object_set_new(message, "error", error);
    return message;
}

json_t *mcp_rpc_notification(const char *method, json_t *params)
{
    return json_pack("{s:s, s:s, s:o*}", "jsonrpc", "2.0", "method", method,
                     "params", params);
}

json_t *mcp_rpc_request(const char *id, const char *method, json_t *params)
{
    return json_pack("{s:s, s:s, s:s, s:o*}", "jsonrpc", "2.0", "id", id,
                     "method", method, "params", params);
}
