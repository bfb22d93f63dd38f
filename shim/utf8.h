/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8 - telling UTF-8 from other bytes, and where a character is cut.
 */
#ifndef SHIM_UTF8_H
#define SHIM_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Length (1 to 4) of the character that starts at data; 0 if there is none
 * (bad lead or continuation byte, overlong, surrogate, above U+10FFFF); -1 if
 * what is there is only the beginning of one. len is at least 1. */
int utf8_measure(const void *data, size_t len);

/* True if all of it is whole characters. */
bool utf8_is_valid(const void *data, size_t len);

/* Bytes (0 to 3) at the end that begin a character which is not complete. */
size_t utf8_cut_tail(const void *data, size_t len);

#endif
