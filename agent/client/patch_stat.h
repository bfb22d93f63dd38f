/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_stat - the size of a step's change to one file.
 */
#ifndef AGENT_CLIENT_PATCH_STAT_H
#define AGENT_CLIENT_PATCH_STAT_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

struct patch_stat {
    char *path, *from; /* bytes, new strings; from: NULL unless renamed */
    bool lines;        /* the change is one of text; otherwise note is set */
    gint64 added, removed;
    char *note; /* "Bin 3 -> 4 bytes", "folder created": a new string */
};

/* Count the lines that patch_append() prints for a file of "diff"
 * (doc/control-protocol.md). */
gboolean patch_stat_file(json_t *file, struct patch_stat *ret_stat,
                         GError **error);
void patch_stat_clear(struct patch_stat *stat);

#endif
