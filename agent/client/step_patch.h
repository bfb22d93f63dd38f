/* SPDX-License-Identifier: Apache-2.0
 *
 * step_patch - an engine's diff of a step as a patch for git(1).
 */
#ifndef AGENT_CLIENT_STEP_PATCH_H
#define AGENT_CLIENT_STEP_PATCH_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

struct patch_request {
    gint64 step;
    unsigned first; /* index of the step's file to begin with */
    gsize max;      /* bytes: the patch ends before the file that exceeds it,
                       except the first */
    char *const *paths; /* only these, with all below; NULL: all files */
};

struct step_patch {
    gint64 step_id;
    GString *text;    /* any bytes */
    gint64 next;      /* index of the file that follows, or -1 */
    gint64 cut;       /* changes that the log does not list */
    bool unprotected; /* the step exceeded its limit */
};

/* Make a patch of a "diff" answer (borrowed, and never changed). Any thread. On
 * failure return NULL and error as patch_append() does. */
struct step_patch *step_patch_make(json_t *diff,
                                   const struct patch_request *request,
                                   GError **error);
void step_patch_free(struct step_patch *patch);

#endif
