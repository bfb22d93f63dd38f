/* SPDX-License-Identifier: Apache-2.0
 *
 * replacements - replaces texts, also within Base64.
 *
 * Base64 (RFC 4648, both alphabets) has a text in one of four positions,
 * depending on the bytes before it. So each run of its characters is decoded
 * from each of its first four, searched, and encoded again from the first
 * change on.
 */
#ifndef PROXY_REPLACEMENTS_H
#define PROXY_REPLACEMENTS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

enum { REPLACEMENTS_MAX = 64 };

struct replacement {
    const char *from, *to; /* borrowed; from has one byte or more */
    size_t from_len, to_len;
};

struct replacements {
    struct replacement list[REPLACEMENTS_MAX];
    unsigned count;
};

/* Replace each text in one pass from left to right; of several at one position
 * the first of the list. Return whether there was one; then out has the whole
 * result appended. */
bool replacements_apply(const struct replacements *replacements,
                        const char *text, size_t len, GString *out);

/* The same in each run of Base64. */
bool replacements_apply_base64(const struct replacements *replacements,
                               const char *text, size_t len, GString *out);

/* The same in the text with its percent-encoding (RFC 3986, 2.1) decoded, but
 * for control characters. */
bool replacements_apply_percent(const struct replacements *replacements,
                                const char *text, size_t len, GString *out);

/* Decode Base64, without or with padding. Return a new byte array, or NULL if
 * text has other characters. */
GByteArray *replacements_decode(const char *text, size_t len);

/* Clear and free bytes that may have a secret. */
void replacements_wipe_bytes(GByteArray *bytes);

#endif
