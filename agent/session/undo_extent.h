/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_extent - how far an undo, its preview or a redo is to go.
 */
#ifndef AGENT_SESSION_UNDO_EXTENT_H
#define AGENT_SESSION_UNDO_EXTENT_H

#include <glib.h>
#include <stdbool.h>

/* So many of the newest steps; or, if step_id is not 0, that one and all that
 * are newer (not for a redo). */
struct undo_extent {
    unsigned steps;
    gint64 step_id;
    bool force; /* over edits from outside */
};

#endif
