/* SPDX-License-Identifier: Apache-2.0
 *
 * http_length - the numbers that divide the bytes of HTTP/1.x.
 */
#ifndef PROXY_HTTP_LENGTH_H
#define PROXY_HTTP_LENGTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest forms: both are less than 2^63. */
enum { HTTP_LENGTH_DIGITS = 18, HTTP_CHUNK_DIGITS = 15 };

/* Parse a Content-Length: decimal digits and nothing else. */
bool http_length_parse(const char *text, size_t len, uint64_t *ret_length);

/* Parse a chunk's size: hexadecimal digits and nothing else. */
bool http_length_parse_chunk(const char *text, size_t len,
                             uint64_t *ret_length);

#endif
