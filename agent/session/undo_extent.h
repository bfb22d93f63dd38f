/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_extent - the range of an undo, a preview or a redo.
 */
#ifndef AGENT_SESSION_UNDO_EXTENT_H
#define AGENT_SESSION_UNDO_EXTENT_H

#include <glib.h>
#include <stdbool.h>

/* The number of newest steps; or, if step_id is not 0, that step and all newer
 * ones (not for a redo). */
struct undo_extent {
    unsigned steps;
    gint64 step_id;
    bool force; /* despite outside edits */
};

#endif
