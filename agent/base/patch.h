/* SPDX-License-Identifier: Apache-2.0
 *
 * patch - format one file's change as part of a patch for git(1).
 */
#ifndef AGENT_BASE_PATCH_H
#define AGENT_BASE_PATCH_H

#include <glib.h>
#include <jansson.h>

/* file is an element of "files" in the control protocol's "diff" answer.
 * Appends lines that end in "\n". Changes that the patch format cannot express
 * are appended as text lines that git(1) skips. On failure return FALSE and
 * error as text_diff() does. */
gboolean patch_append(GString *text, json_t *file, GError **error);

#endif
