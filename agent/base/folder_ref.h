/* SPDX-License-Identifier: Apache-2.0
 *
 * folder_ref - a reference to one of a session's working folders.
 */
#ifndef AGENT_BASE_FOLDER_REF_H
#define AGENT_BASE_FOLDER_REF_H

#include <glib.h>
#include <stdbool.h>

struct folder_ref {
    bool given;
    const char *name; /* a label or a path; NULL: use the index */
    gint64 index;
};

/* No folder named: the first folder or all folders, by operation. */
#define FOLDER_NONE ((struct folder_ref){ 0 })

#endif
