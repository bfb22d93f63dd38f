/* SPDX-License-Identifier: Apache-2.0
 *
 * patch - format one file's change as part of a patch for git(1).
 */
#ifndef AGENT_CLIENT_PATCH_H
#define AGENT_CLIENT_PATCH_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* file is an element of "files" in the control protocol's "diff" answer.
 * Appends lines that end in "\n". Changes that the patch format cannot express
 * are appended as text lines that git(1) skips. On failure return FALSE and
 * error as text_diff() does. */
gboolean patch_append(GString *text, json_t *file, GError **error);

/* Return whether a file is at or below one of these paths, or was. paths ends
 * with NULL; NULL or empty: all files. */
bool patch_is_wanted(json_t *file, char *const *paths);

/* Return a sentence about what a patch lacks, a new string: the changes that
 * the log does not list; the files of a step that exceeded its limit. */
char *patch_note_cut(gint64 step, gint64 cut);
char *patch_note_partial(gint64 step);

#endif
