/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8 - validate UTF-8 and find incomplete characters.
 */
#ifndef SHIM_UTF8_H
#define SHIM_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Return the length (1 to 4) of the character at data; 0 if it is invalid (bad
 * lead or continuation byte, overlong, surrogate, above U+10FFFF); -1 if it is
 * an incomplete prefix. len must be at least 1. */
int utf8_measure(const void *data, size_t len);

/* Return how many bytes (0 to 3) at the end belong to an incomplete
 * character. */
size_t utf8_cut_tail(const void *data, size_t len);

#endif
