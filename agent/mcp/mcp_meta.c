/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_meta - see mcp_meta.h.
 */
#include "agent/mcp/mcp_meta.h"

#include <stdbool.h>

static json_t *version_data(const char *requested)
{
    return json_pack("{s:o, s:s}", "supported", mcp_version_list(), "requested",
                     requested);
}

static bool read_log_level(json_t *level, int *ret_level)
{
    *ret_level = MCP_META_NO_LOG;
    if (json_is_string(level))
        *ret_level = mcp_log_level_parse(json_string_value(level));
    return *ret_level >= 0 && (!level || json_is_string(level));
}

int mcp_meta_read(struct mcp_call_config *config, const char **ret_problem,
                  json_t **ret_data)
{
    json_t *meta = json_object_get(config->params, "_meta");
    const char *name = json_string_value(
        json_object_get(meta, MCP_META_VERSION));

    config->capabilities = json_object_get(meta, MCP_META_CAPABILITIES);
    if (!name) {
        *ret_problem = "start with 'initialize'; without it, '_meta' must have "
                       "the protocol version as '" MCP_META_VERSION "'";
    } else if (!mcp_version_parse(name, &config->version) ||
               config->version < MCP_MODERN) {
        *ret_problem = "this version is not supported without 'initialize'";
        *ret_data = version_data(name);
        return MCP_RPC_UNSUPPORTED_VERSION;
    } else if (!json_is_object(config->capabilities)) {
        *ret_problem = "'_meta' must have an object '" MCP_META_CAPABILITIES
                       "'";
    } else if (!read_log_level(json_object_get(meta, MCP_META_LOG_LEVEL),
                               &config->log_level)) {
        *ret_problem = "'" MCP_META_LOG_LEVEL "' is not a log level";
    } else {
        return 0;
    }
    return MCP_RPC_INVALID_PARAMS;
}
