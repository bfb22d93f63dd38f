/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_rpc - JSON-RPC 2.0 messages as used by the Model Context Protocol.
 *
 * Ids are strings or integers, never null, and limited in length; params is an
 * object. Everything else is an invalid request, which gets an error and has no
 * effect. Strings contain no NUL: the line parser refuses it. An error for a
 * request whose id is unknown has no id member, because the protocol does not
 * allow a null id.
 */
#ifndef AGENT_MCP_MCP_RPC_H
#define AGENT_MCP_MCP_RPC_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

enum mcp_rpc_code {
    MCP_RPC_PARSE_ERROR = -32700,
    MCP_RPC_INVALID_REQUEST = -32600,
    MCP_RPC_METHOD_NOT_FOUND = -32601,
    MCP_RPC_INVALID_PARAMS = -32602,
    MCP_RPC_INTERNAL_ERROR = -32603,
    MCP_RPC_NO_RESOURCE = -32002, /* up to 2025-11-25 */
    MCP_RPC_UNSUPPORTED_VERSION = -32022,
};

enum { MCP_RPC_ID_MAX = 256, MCP_RPC_METHOD_MAX = 128 };

enum mcp_rpc_kind {
    MCP_RPC_REQUEST,      /* id, method, params (may be NULL) */
    MCP_RPC_NOTIFICATION, /* method, params (may be NULL) */
    MCP_RPC_RESPONSE,     /* id, and result or error */
    MCP_RPC_INVALID,      /* problem; id if it could be parsed, else NULL */
};

/* All borrowed from the parsed message. */
struct mcp_rpc {
    enum mcp_rpc_kind kind;
    json_t *id;
    const char *method;
    json_t *params;
    json_t *result, *error;
    const char *problem; /* a sentence; static */
};

/* Return whether a value (borrowed, or NULL) is a valid id. */
bool mcp_rpc_is_id(json_t *id);

/* Classify a message (borrowed; any JSON value). */
void mcp_rpc_parse(json_t *message, struct mcp_rpc *ret);

/* Return a text that is equal only for equal ids ("1" is not 1). A new
 * string. */
char *mcp_rpc_id_key(json_t *id);

/* Build messages; new references. id is borrowed; NULL: no id. The other values
 * are taken; data and params may be NULL. */
json_t *mcp_rpc_error(json_t *id, int code, const char *text, json_t *data);
json_t *mcp_rpc_notification(const char *method, json_t *params);
json_t *mcp_rpc_request(const char *id, const char *method, json_t *params);

#endif
