/* SPDX-License-Identifier: Apache-2.0
 *
 * recover_ambient - an ambient step that a kill has interrupted.
 *
 * No user began it, so no user expects it to be rolled back: it may contain
 * hours of work by a client without steps. It is committed as found, and can be
 * undone like any other. A change that takes several calls, such as a rename
 * over a folder, may be half done.
 *
 * Changes by other processes after the kill are outside edits.
 */
#ifndef INTERCEPTOR_ENGINE_RECOVER_AMBIENT_H
#define INTERCEPTOR_ENGINE_RECOVER_AMBIENT_H

#include "interceptor/engine/core.h"

/* With the gate write-locked: commit the step in wal/in_progress, with this
 * summary and the folder dir, if it is such a step. *ret_kept is false, and
 * nothing was changed, if it is not, if its record is damaged, if it is
 * unprotected, or if it was being rolled back. */
bool recover_keep_ambient(struct ic *ic, int dir, const struct step *summary,
                          bool *ret_kept, GError **error);

#endif
