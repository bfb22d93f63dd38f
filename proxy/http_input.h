/* SPDX-License-Identifier: Apache-2.0
 *
 * http_input - the bytes of one call to a reader, and the lines in them.
 *
 * A line may come in several calls; its bytes are then kept here.
 */
#ifndef PROXY_HTTP_INPUT_H
#define PROXY_HTTP_INPUT_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

struct http_input {
    const char *data; /* borrowed */
    size_t length, used;
};

enum http_step {
    HTTP_ON,     /* call again */
    HTTP_WAIT,   /* for more bytes, or for the other side */
    HTTP_FAILED, /* nothing more can be read */
};

/* Zero at first. */
struct http_lines {
    GString *line; /* NULL: empty */
    size_t total;  /* bytes of the lines until now, this one included */
    bool is_whole; /* the line ends here, or is too long */
};

/* Read up to the end of the line, at most max bytes of all lines. Return
 * HTTP_ON once it is whole, until http_lines_next(). */
enum http_step http_lines_read(struct http_lines *lines,
                               struct http_input *input, size_t max);

/* Return the whole line without CR LF, and set ret_len. NULL: it does not end
 * with CR LF, or is too long; ret_problem is set to a static text. */
const char *http_lines_text(const struct http_lines *lines, size_t *ret_len,
                            const char **ret_problem);

/* Begin the next line. */
void http_lines_next(struct http_lines *lines);

/* Begin the next group of lines. */
void http_lines_clear(struct http_lines *lines);

#endif
