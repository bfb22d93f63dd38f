/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_parts - private to the files of a sandbox.
 */
#ifndef COMMON_SANDBOX_PARTS_H
#define COMMON_SANDBOX_PARTS_H

#include <glib.h>
#include <stdbool.h>

#include "common/sandbox_options.h"

struct sandbox {
    enum sandbox_mode mode; /* the actual mode: never SANDBOX_AUTO */
    enum sandbox_action action;
    bool read_only;
    char *modcaps;
    bool file_handles;
    char *share, *undo_dir, *store_dir; /* paths inside */
};

/* The paths to mount. */
struct sandbox_places {
    /* Real paths outside; only share is never NULL. */
    char *share, *undo_dir, *store_dir;
    char *common; /* the parent of share and log, if both are on one mount */
};

/* Set an error with the text of errno. Return FALSE. */
gboolean sandbox_fail(GError **error, const char *what);

#endif
