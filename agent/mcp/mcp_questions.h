/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_questions - the open questions to an MCP client.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MCP_MCP_QUESTIONS_H
#define AGENT_MCP_MCP_QUESTIONS_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/mcp/mcp_call.h"

enum { MCP_QUESTIONS_MAX = 16 };

struct mcp_questions;

struct mcp_questions *mcp_questions_new(void);
void mcp_questions_free(struct mcp_questions *questions);

/* Add a question of a call (borrowed until the question is removed); key
 * identifies it within the call. Return the id for the request to the client, a
 * new string; NULL: too many. */
char *mcp_questions_add(struct mcp_questions *questions, struct mcp_call *call,
                        const char *key);

/* Remove the questions of a call; the id of each is added to withdrawn. */
void mcp_questions_remove(struct mcp_questions *questions,
                          struct mcp_call *call,
                          void (*withdrawn)(const char *id, void *opaque),
                          void *opaque);

/* Pass the client's answer to mcp_call_take_answer(). id (NULL, or any peer
 * input) and result (NULL: an error) are borrowed. False: the question was
 * withdrawn, or never existed. */
bool mcp_questions_answer(struct mcp_questions *questions, json_t *id,
                          json_t *result);

/* The client will not answer any more: all open questions get NULL. */
void mcp_questions_end(struct mcp_questions *questions);

#endif
