/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_schema - whether the arguments of a tool are what its schema says.
 *
 * Of JSON Schema it knows what the schemas of our tools use: type, properties,
 * required, additionalProperties, items, enum, minimum, maximum, minLength,
 * maxLength. What is wrong is told in a sentence for a language model, which
 * names the argument and what it must be.
 */
#ifndef AGENT_MCP_MCP_SCHEMA_H
#define AGENT_MCP_MCP_SCHEMA_H

#include <jansson.h>

/* NULL: all is well; else a new string. Both are borrowed. */
char *mcp_schema_check(json_t *schema, json_t *arguments);

#endif
