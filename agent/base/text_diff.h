/* SPDX-License-Identifier: Apache-2.0
 *
 * text_diff - the unified diff of two texts, computed by diff(1).
 */
#ifndef AGENT_BASE_TEXT_DIFF_H
#define AGENT_BASE_TEXT_DIFF_H

#include <glib.h>
#include <stdbool.h>

struct text_side {
    const char *label; /* after "--- " and "+++ " */
    const void *data;
    gsize len;
};

/* Return whether a text diff makes sense: false if the data contains a NUL. */
bool text_diff_is_text(const void *data, gsize len);

/* Return the diff as a new string, "" if the texts are equal. *ret_len is its
 * length: it may hold any bytes but NUL. If diff cannot run, return NULL with
 * ERROR_IO_ERROR. */
char *text_diff(const struct text_side *before, const struct text_side *after,
                gsize *ret_len, GError **error);

#endif
