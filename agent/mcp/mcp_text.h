/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_text - the results of tools as text that a language model reads.
 *
 * Each function describes the structured result of a tool (borrowed) in a new
 * string, which is not empty: some clients refuse empty texts. Names with
 * control characters or bytes that are not UTF-8 are quoted as by git(1). Lines
 * of ours, beside a command's output or a file's content, are in brackets.
 *
 * many: there are several working folders, so paths are followed by the label
 * of theirs.
 */
#ifndef AGENT_MCP_MCP_TEXT_H
#define AGENT_MCP_MCP_TEXT_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

char *mcp_text_file(json_t *result);
char *mcp_text_listing(json_t *result);
char *mcp_text_command(json_t *result, bool many);
char *mcp_text_write(json_t *result, bool many);
char *mcp_text_diff(json_t *result);
char *mcp_text_history(json_t *result);
char *mcp_text_status(json_t *result);

/* Of an undo and a redo, steps that are as before or as after them; of a
 * restore, a new step. */
enum mcp_text_undo { MCP_TEXT_UNDO, MCP_TEXT_REDO, MCP_TEXT_RESTORE };

char *mcp_text_undo(json_t *result, enum mcp_text_undo kind, bool many);

char *mcp_text_process(json_t *result);
char *mcp_text_processes(json_t *result);
/* added: the port is published; otherwise it is not any more. */
char *mcp_text_port(json_t *result, bool added);
char *mcp_text_access(json_t *result);
/* in: into the guest. */
char *mcp_text_copy(json_t *result, bool in, bool many);

/* Append a sentence about a network policy, in the form of network_policy.h. */
void mcp_text_append_network(GString *text, json_t *policy);

/* ---- for mcp_text_*.c ---------------------------------------------------- */

/* Return a member, borrowed; "" or 0 if there is none. */
const char *mcp_text_string(json_t *object, const char *key);
json_int_t mcp_text_number(json_t *object, const char *key);

/* Append the name in the member key, if there is one. */
void mcp_text_append_name(GString *text, json_t *object, const char *key);

/* Append a member that is an integer. */
void mcp_text_append_number(GString *text, json_t *object, const char *key);

/* Append what a step changed, in words; undone: what its undo changed. */
void mcp_text_append_changes(GString *text, json_t *report, bool undone,
                             bool many);

#endif
