/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_version - see mcp_version.h.
 */
#include "agent/mcp/mcp_version.h"

#include <string.h>

static const char *const names[MCP_VERSIONS] = {
    [MCP_2024_11_05] = "2024-11-05", [MCP_2025_03_26] = "2025-03-26",
    [MCP_2025_06_18] = "2025-06-18", [MCP_2025_11_25] = "2025-11-25",
    [MCP_2026_07_28] = "2026-07-28",
};

const char *mcp_version_name(enum mcp_version version)
{
    return names[version];
}

bool mcp_version_parse(const char *name, enum mcp_version *ret_version)
{
    for (int i = 0; i < MCP_VERSIONS; i++) {
        if (strcmp(names[i], name) == 0) {
            *ret_version = (enum mcp_version)i;
            return true;
        }
    }
    return false;
}

json_t *mcp_version_list(void)
{
    json_t *list = json_array();

    for (int i = MCP_VERSIONS - 1; i >= 0; i--)
        json_array_append_new(list, json_string(names[i]));
    return list;
}

int mcp_log_level_parse(const char *name)
{
    static const char *const levels[] = { "debug",   "info",     "notice",
                                          "warning", "error",    "critical",
                                          "alert",   "emergency" };

    for (size_t i = 0; i < G_N_ELEMENTS(levels); i++) {
        if (strcmp(levels[i], name) == 0)
            return (int)i;
    }
    return -1;
}
