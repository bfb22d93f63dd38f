/* SPDX-License-Identifier: Apache-2.0
 *
 * folder_ref - which of a session's working folders is meant.
 */
#ifndef AGENT_BASE_FOLDER_REF_H
#define AGENT_BASE_FOLDER_REF_H

#include <glib.h>
#include <stdbool.h>

struct folder_ref {
    bool given;
    const char *name; /* a label or a path; NULL: the index counts */
    gint64 index;
};

/* None is named: the first one, or all. */
#define FOLDER_NONE ((struct folder_ref){ 0 })

#endif
