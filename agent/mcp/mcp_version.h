/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_version - the versions of the Model Context Protocol, in two eras.
 *
 * Up to 2025-11-25 client and server negotiate a version once, with
 * "initialize". From 2026-07-28 on each request carries version and
 * capabilities in its "_meta" and is independent of earlier requests.
 */
#ifndef AGENT_MCP_MCP_VERSION_H
#define AGENT_MCP_MCP_VERSION_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* In chronological order, so that later versions compare as greater. */
enum mcp_version {
    MCP_2024_11_05,
    MCP_2025_03_26, /* annotations of tools, completions, batches */
    MCP_2025_06_18, /* structured content, titles, elicitation; no batches */
    MCP_2025_11_25,
    MCP_2026_07_28, /* stateless */
    MCP_VERSIONS,
};

#define MCP_LATEST_LEGACY MCP_2025_11_25
#define MCP_MODERN        MCP_2026_07_28

/* Members of "_meta". */
#define MCP_META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_LOG_LEVEL    "io.modelcontextprotocol/logLevel"
#define MCP_META_SERVER       "io.modelcontextprotocol/serverInfo"
#define MCP_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

const char *mcp_version_name(enum mcp_version version);
bool mcp_version_parse(const char *name, enum mcp_version *ret_version);

/* Return all version names, newest first: a new array. */
json_t *mcp_version_list(void);

/* Return a log level's number, or -1: "debug" is 0, "emergency" 7. */
int mcp_log_level_parse(const char *name);

#endif
