/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_output - see mcp_output.h.
 */
#include "agent/mcp/mcp_output.h"

#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

void mcp_output_add(struct mcp_output *output, const char *data, size_t len)
{
    size_t n = MIN(len, MCP_OUTPUT_HEAD - output->head_len);

    if (!output->head) {
        output->head = g_malloc(MCP_OUTPUT_HEAD);
        output->tail = g_malloc(MCP_OUTPUT_TAIL);
    }
    memcpy(output->head + output->head_len, data, n);
    output->head_len += n;
    data += n;
    len -= n;
    if (len > MCP_OUTPUT_TAIL) {
        output->tail_total += len - MCP_OUTPUT_TAIL;
        data += len - MCP_OUTPUT_TAIL;
        len = MCP_OUTPUT_TAIL;
    }
    while (len > 0) {
        size_t at = (size_t)(output->tail_total % MCP_OUTPUT_TAIL);

        n = MIN(len, MCP_OUTPUT_TAIL - at);
        memcpy(output->tail + at, data, n);
        output->tail_total += n;
        data += n;
        len -= n;
    }
}

void mcp_output_clear(struct mcp_output *output)
{
    g_free(output->head);
    g_free(output->tail);
    *output = (struct mcp_output){ 0 };
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Return how many bytes at the end belong to an incomplete character. */
static size_t cut_at_end(const char *data, size_t len)
{
    size_t n = 0;

    while (n < 4 && n < len && is_continuation(data[len - 1 - n]))
        n++;
    if (n == 4 || n == len)
        return 0;
    n++;
    return g_utf8_get_char_validated(data + len - n, (gssize)n) == (gunichar)-2
               ? n
               : 0;
}

static size_t cut_at_start(const char *data, size_t len)
{
    size_t n = 0;

    while (n < 3 && n < len && is_continuation(data[n]))
        n++;
    return n;
}

static char *read_tail(const struct mcp_output *output, size_t *ret_len)
{
    size_t len = MIN(output->tail_total, (uint64_t)MCP_OUTPUT_TAIL);
    size_t from = (size_t)((output->tail_total - len) % MCP_OUTPUT_TAIL);
    size_t first = MIN(len, MCP_OUTPUT_TAIL - from);
    char *tail = g_malloc(len + 1);

    if (len > 0) {
        memcpy(tail, output->tail + from, first);
        memcpy(tail + first, output->tail, len - first);
    }
    *ret_len = len;
    return tail;
}

char *mcp_output_text(const struct mcp_output *output, uint64_t *ret_dropped)
{
    size_t head_len = output->head_len, tail_len, skip = 0;
    g_autofree char *tail = read_tail(output, &tail_len);
    g_autoptr(GString) text = g_string_new(NULL);

    *ret_dropped = output->tail_total - tail_len;
    if (*ret_dropped > 0) {
        size_t cut = cut_at_end(output->head, head_len);

        skip = cut_at_start(tail, tail_len);
        head_len -= cut;
        *ret_dropped += cut + skip;
    }
    if (head_len > 0)
        g_string_append_len(text, output->head, (gssize)head_len);
    if (*ret_dropped > 0)
        g_string_append_printf(text, "\n[... %" PRIu64 " bytes omitted ...]\n",
                               *ret_dropped);
    g_string_append_len(text, tail + skip, (gssize)(tail_len - skip));
    return g_utf8_make_valid(text->str, (gssize)text->len);
}
