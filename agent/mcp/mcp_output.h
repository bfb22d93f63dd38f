/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_output - what a command prints, for a language model: the beginning and
 * the end, and how much is missing in between. So its memory is bounded.
 */
#ifndef AGENT_MCP_MCP_OUTPUT_H
#define AGENT_MCP_MCP_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

enum { MCP_OUTPUT_HEAD = 32 << 10, MCP_OUTPUT_TAIL = 32 << 10 };

struct mcp_output {
    char *head, *tail; /* tail is a ring */
    size_t head_len;
    uint64_t tail_total; /* bytes that ever went into the ring */
};

/* All zero is an empty one. */
void mcp_output_add(struct mcp_output *output, const char *data, size_t len);
void mcp_output_clear(struct mcp_output *output);

/* All that is kept as UTF-8 text, with a line in place of what is not: a new
 * string. */
char *mcp_output_text(const struct mcp_output *output, uint64_t *ret_dropped);

#endif
