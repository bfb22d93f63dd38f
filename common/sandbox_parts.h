/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_parts - a sandbox, for its own files alone.
 */
#ifndef COMMON_SANDBOX_PARTS_H
#define COMMON_SANDBOX_PARTS_H

#include <glib.h>
#include <stdbool.h>

#include "common/sandbox_options.h"

struct sandbox {
    enum sandbox_mode mode; /* as it came out: never SANDBOX_AUTO */
    enum sandbox_action action;
    bool read_only;
    char *modcaps;
    bool file_handles;
    char *share, *undo_dir, *store_dir; /* paths in it */
};

/* Where things are to be mounted. */
struct sandbox_places {
    /* Real paths outside; only the first is never NULL. */
    char *share, *undo_dir, *store_dir;
    char *common; /* the parent of share and log, if one mount has them */
};

/* An error with the text of errno. FALSE. */
gboolean sandbox_fail(GError **error, const char *what);

#endif
