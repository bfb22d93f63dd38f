/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_keys - the bytes that keys of a terminal send.
 */
#ifndef AGENT_MCP_MCP_KEYS_H
#define AGENT_MCP_MCP_KEYS_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* Append the bytes of keys, an array of names (NULL: empty). false: a name is
 * unknown, which *ret_problem (new) explains. */
bool mcp_keys_append(GString *data, json_t *keys, char **ret_problem);

#endif
