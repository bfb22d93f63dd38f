/* SPDX-License-Identifier: Apache-2.0
 *
 * http_body - see http_body.h.
 */
#include "proxy/http_body.h"

#include <inttypes.h>
#include <string.h>

#include "proxy/http_length.h"

void http_body_begin(struct http_body *body, bool chunked, uint64_t length,
                     bool extensions)
{
    *body = (struct http_body){
        .state = chunked      ? HTTP_BODY_CHUNK_SIZE
                 : length > 0 ? HTTP_BODY_LENGTH
                              : HTTP_BODY_OVER,
        .left = chunked ? 0 : length,
        .extensions = extensions,
    };
}

void http_body_begin_to_end(struct http_body *body)
{
    *body = (struct http_body){ .state = HTTP_BODY_TO_END, .left = UINT64_MAX };
}

/* Copy as many bytes as there are and as the output has room for. */
static enum http_step copy(struct http_body *body, struct http_input *input,
                           struct relay_output *output,
                           enum http_body_state next)
{
    uint64_t here = MIN(body->left, input->length - input->used);

    if (output)
        here = MIN(here, relay_output_room(output));
    if (here == 0)
        return HTTP_WAIT;
    if (output)
        relay_output_add(output, input->data + input->used, (size_t)here);
    input->used += (size_t)here;
    if (body->state == HTTP_BODY_TO_END)
        return HTTP_ON;
    body->left -= here;
    if (body->left == 0)
        body->state = next;
    return HTTP_ON;
}

/* ---- chunks -------------------------------------------------------------- */

/* Return the length of the size itself in its line. */
static size_t size_length(const struct http_body *body, size_t len)
{
    const char *end = memchr(body->line, ';', len);

    if (!body->extensions)
        return len;
    if (end)
        len = (size_t)(end - body->line);
    while (len > 0 &&
           (body->line[len - 1] == ' ' || body->line[len - 1] == '\t'))
        len--;
    return len;
}

/* Take the line with a chunk's size, which is whole. */
static enum http_step take_size(struct http_body *body,
                                struct relay_output *output,
                                const char **ret_problem)
{
    size_t len = body->line_length;
    char text[HTTP_CHUNK_DIGITS + 3];

    body->line_length = 0;
    if (len < 2 || memchr(body->line, '\r', len) != body->line + len - 2) {
        *ret_problem = "a line does not end with CR LF";
        return HTTP_FAILED;
    }
    if (!http_length_parse_chunk(body->line, size_length(body, len - 2),
                                 &body->left)) {
        *ret_problem = "a chunk's size is malformed";
        return HTTP_FAILED;
    }
    body->state = body->left > 0 ? HTTP_BODY_CHUNK : HTTP_BODY_TRAILER;
    g_snprintf(text, sizeof(text), "%" PRIx64 "\r\n", body->left);
    if (output && body->left > 0)
        relay_output_add(output, text, strlen(text));
    return HTTP_ON;
}

static enum http_step read_size(struct http_body *body,
                                struct http_input *input,
                                struct relay_output *output,
                                const char **ret_problem)
{
    size_t max = body->extensions ? HTTP_BODY_LINE : HTTP_CHUNK_DIGITS + 2;

    if (output && relay_output_room(output) == 0)
        return HTTP_WAIT;
    while (input->used < input->length) {
        char byte = input->data[input->used++];

        body->line[body->line_length++] = byte;
        if (byte == '\n')
            return take_size(body, output, ret_problem);
        if (body->line_length == max) {
            *ret_problem = "a chunk's size is too long";
            return HTTP_FAILED;
        }
    }
    return HTTP_WAIT;
}

static enum http_step read_chunk_end(struct http_body *body,
                                     struct http_input *input,
                                     struct relay_output *output,
                                     const char **ret_problem)
{
    static const char end[] = "\r\n";

    while (input->used < input->length) {
        if (input->data[input->used++] != end[body->line_length++]) {
            *ret_problem = "a chunk is longer than its size";
            return HTTP_FAILED;
        }
        if (!end[body->line_length]) {
            body->line_length = 0;
            body->state = HTTP_BODY_CHUNK_SIZE;
            if (output)
                relay_output_add(output, end, strlen(end));
            return HTTP_ON;
        }
    }
    return HTTP_WAIT;
}

static enum http_step read_part(struct http_body *body,
                                struct http_input *input,
                                struct relay_output *output,
                                const char **ret_problem)
{
    switch (body->state) {
    case HTTP_BODY_LENGTH:
    case HTTP_BODY_TO_END:
        return copy(body, input, output, HTTP_BODY_OVER);
    case HTTP_BODY_CHUNK_SIZE:
        return read_size(body, input, output, ret_problem);
    case HTTP_BODY_CHUNK:
        return copy(body, input, output, HTTP_BODY_CHUNK_END);
    case HTTP_BODY_CHUNK_END:
        return read_chunk_end(body, input, output, ret_problem);
    case HTTP_BODY_OVER:
    case HTTP_BODY_TRAILER:
        break;
    }
    return HTTP_ON;
}

enum http_step http_body_read(struct http_body *body, struct http_input *input,
                              struct relay_output *output,
                              const char **ret_problem)
{
    enum http_step step = HTTP_ON;

    while (step == HTTP_ON && body->state != HTTP_BODY_OVER &&
           body->state != HTTP_BODY_TRAILER)
        step = read_part(body, input, output, ret_problem);
    return step;
}
