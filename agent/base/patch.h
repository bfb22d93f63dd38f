/* SPDX-License-Identifier: Apache-2.0
 *
 * patch - a change of a file as a part of a patch that git(1) can apply.
 */
#ifndef AGENT_BASE_PATCH_H
#define AGENT_BASE_PATCH_H

#include <glib.h>
#include <jansson.h>

/* file: a member of "files" of the control protocol's "diff". Appends lines
 * that end in "\n". What a patch cannot say is said in words, which git(1)
 * passes over. FALSE and error as text_diff(). */
gboolean patch_append(GString *text, json_t *file, GError **error);

#endif
