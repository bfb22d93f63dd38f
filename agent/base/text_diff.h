/* SPDX-License-Identifier: Apache-2.0
 *
 * text_diff - the unified diff of two texts, by the program diff(1).
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

/* Would a diff of it be of any use? No with a NUL in it. */
bool text_diff_is_text(const void *data, gsize len);

/* A new string, "" if they are equal; its length in *ret_len, for it may hold
 * any bytes but NUL. NULL and error (ERROR_IO_ERROR): diff cannot be run. */
char *text_diff(const struct text_side *before, const struct text_side *after,
                gsize *ret_len, GError **error);

#endif
