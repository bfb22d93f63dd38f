/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_schema - validate the arguments of a tool against its schema.
 *
 * Supports the part of JSON Schema that our tools use: type, properties,
 * required, additionalProperties, items, enum, minimum, maximum, minLength,
 * maxLength. A problem is described in a sentence for a language model that
 * names the argument and the requirement.
 */
#ifndef AGENT_MCP_MCP_SCHEMA_H
#define AGENT_MCP_MCP_SCHEMA_H

#include <jansson.h>

/* Return NULL if the arguments are valid, or a new string with the problem.
 * Both arguments are borrowed. */
char *mcp_schema_check(json_t *schema, json_t *arguments);

#endif
