/* SPDX-License-Identifier: Apache-2.0
 *
 * http_status - whether a server accepts an upgrade: the status of the first
 * response of a connection, after interim ones (RFC 9110, 15.2).
 */
#ifndef PROXY_HTTP_STATUS_H
#define PROXY_HTTP_STATUS_H

#include <stdbool.h>
#include <stddef.h>

enum http_status_verdict {
    HTTP_STATUS_MORE,
    HTTP_STATUS_SWITCHED, /* 101 */
    HTTP_STATUS_OTHER,
};

enum { HTTP_STATUS_LENGTH = 12 }; /* "HTTP/1.1 101" */

/* Zero at first. */
struct http_status {
    enum http_status_verdict verdict;
    char line[HTTP_STATUS_LENGTH];
    size_t length;   /* of line */
    bool skips;      /* within an interim response, behind its status */
    bool line_empty; /* nothing but CR since the last LF */
};

/* Read the server's next bytes. After a verdict the rest is ignored. */
enum http_status_verdict http_status_read(struct http_status *status,
                                          const char *data, size_t length);

#endif
