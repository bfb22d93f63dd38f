/* SPDX-License-Identifier: Apache-2.0
 *
 * http_body - copies the body of an HTTP/1.x message as it comes.
 *
 * Chunks keep their sizes, which are written in one form; extensions are
 * dropped from responses, and refused in requests. The last chunk is read and
 * not written: that follows with the trailer, which the caller reads.
 */
#ifndef PROXY_HTTP_BODY_H
#define PROXY_HTTP_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/http_input.h"
#include "proxy/relay_output.h"

enum http_body_state {
    HTTP_BODY_OVER,
    HTTP_BODY_LENGTH,
    HTTP_BODY_TO_END, /* of the connection */
    HTTP_BODY_CHUNK_SIZE,
    HTTP_BODY_CHUNK,
    HTTP_BODY_CHUNK_END,
    HTTP_BODY_TRAILER, /* the caller sets HTTP_BODY_OVER behind it */
};

/* A line with a chunk's size. */
enum { HTTP_BODY_LINE = 256 };

struct http_body {
    enum http_body_state state;
    uint64_t left; /* of the body or the chunk */
    bool extensions;
    unsigned line_length;
    char line[HTTP_BODY_LINE];
};

/* Begin a body: chunked, or of this length. extensions: those of chunks are
 * dropped, else refused. */
void http_body_begin(struct http_body *body, bool chunked, uint64_t length,
                     bool extensions);

/* Begin a body that ends with the connection. */
void http_body_begin_to_end(struct http_body *body);

/* Copy bytes to the output, while it has room; NULL: drop them. Return HTTP_ON
 * when the state is HTTP_BODY_OVER or HTTP_BODY_TRAILER. ret_problem is set
 * with HTTP_FAILED, to a static text. */
enum http_step http_body_read(struct http_body *body, struct http_input *input,
                              struct relay_output *output,
                              const char **ret_problem);

#endif
