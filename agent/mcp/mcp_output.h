/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_output - a command's output for a language model: the beginning, the end,
 * and the number of bytes omitted between them, in bounded memory.
 */
#ifndef AGENT_MCP_MCP_OUTPUT_H
#define AGENT_MCP_MCP_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

enum { MCP_OUTPUT_HEAD = 32 << 10, MCP_OUTPUT_TAIL = 32 << 10 };

struct mcp_output {
    char *head, *tail; /* tail is a ring buffer */
    size_t head_len;
    uint64_t tail_total; /* total number of bytes written to the ring */
};

/* An all-zero object is empty. */
void mcp_output_add(struct mcp_output *output, const char *data, size_t len);
void mcp_output_clear(struct mcp_output *output);

/* Return the kept output as UTF-8 text, with a line in place of the omitted
 * bytes: a new string. */
char *mcp_output_text(const struct mcp_output *output, uint64_t *ret_dropped);

#endif
