/* SPDX-License-Identifier: Apache-2.0
 *
 * http_input - see http_input.h.
 */
#include "proxy/http_input.h"

#include <string.h>

#include "common/wiped.h"

enum http_step http_lines_read(struct http_lines *lines,
                               struct http_input *input, size_t max)
{
    const char *data = input->data + input->used, *end;
    size_t length = MIN(input->length - input->used, max - lines->total);

    if (lines->is_whole)
        return HTTP_ON;
    if (lines->total == max) {
        lines->is_whole = true;
        return HTTP_ON;
    }
    if (length == 0)
        return HTTP_WAIT;
    end = memchr(data, '\n', length);
    if (end)
        length = (size_t)(end - data) + 1;
    if (!lines->line)
        lines->line = g_string_sized_new(length);
    wiped_append(lines->line, data, length);
    lines->total += length;
    input->used += length;
    lines->is_whole = end || lines->total == max;
    return lines->is_whole ? HTTP_ON : HTTP_WAIT;
}

const char *http_lines_text(const struct http_lines *lines, size_t *ret_len,
                            const char **ret_problem)
{
    const char *text = lines->line->str;
    size_t len = lines->line->len;

    if (len == 0 || text[len - 1] != '\n') {
        *ret_problem = "the head or the trailer is too long";
        return NULL;
    }
    if (len < 2 || memchr(text, '\r', len) != text + len - 2) {
        *ret_problem = "a line does not end with CR LF";
        return NULL;
    }
    *ret_len = len - 2;
    return text;
}

void http_lines_next(struct http_lines *lines)
{
    if (lines->line)
        g_string_truncate(lines->line, 0);
    lines->is_whole = false;
}

void http_lines_clear(struct http_lines *lines)
{
    wiped_free(lines->line);
    *lines = (struct http_lines){ 0 };
}
