/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8 - is this UTF-8?
 *
 * Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#ifndef SHIM_UTF8_H
#define SHIM_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* True if the bytes are UTF-8 from end to end. */
bool utf8_valid(const char *bytes, size_t length);

/* How many of the last bytes (0 to 3) begin a character whose end is missing,
 * but which further bytes could complete. */
size_t utf8_incomplete_tail(const char *bytes, size_t length);

#endif
