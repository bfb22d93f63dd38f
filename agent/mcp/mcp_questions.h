/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_questions - what an MCP client was asked and has not answered yet.
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

/* A question of a call (borrowed, until it is removed), which knows it by key:
 * the id to ask it with, a new string. NULL: there are too many. */
char *mcp_questions_add(struct mcp_questions *questions, struct mcp_call *call,
                        const char *key);

/* Forget those of a call; each one's id goes to withdrawn. */
void mcp_questions_remove(struct mcp_questions *questions,
                          struct mcp_call *call,
                          void (*withdrawn)(const char *id, void *opaque),
                          void *opaque);

/* The client's answer to a question goes to mcp_call_take_answer(). id (NULL,
 * or what a peer gives) and result (NULL: an error) are borrowed. False: it is
 * to a question that was withdrawn, or to none. */
bool mcp_questions_answer(struct mcp_questions *questions, json_t *id,
                          json_t *result);

/* The client answers nothing any more: all that is left gets NULL. */
void mcp_questions_end(struct mcp_questions *questions);

#endif
