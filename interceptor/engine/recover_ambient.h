/* SPDX-License-Identifier: Apache-2.0
 *
 * recover_ambient - an ambient step that a kill has interrupted.
 *
 * Nobody began it, so nobody expects it to be taken back: it may be all that a
 * client without steps has written for hours. It is committed as it is found,
 * and can be undone as any other. Of a change that takes several calls, as a
 * rename over a folder, the half may be done.
 *
 * What others have changed of it after the kill is an edit from outside.
 */
#ifndef INTERCEPTOR_ENGINE_RECOVER_AMBIENT_H
#define INTERCEPTOR_ENGINE_RECOVER_AMBIENT_H

#include "interceptor/engine/core.h"

/* With the gate write-locked: commit the step in wal/in_progress, whose summary
 * is given and whose folder is dir, if it is such a step. *ret_kept is false,
 * and nothing was changed, if it is not, or if its record is damaged or
 * unprotected, or was being taken back. */
bool recover_keep_ambient(struct ic *ic, int dir, const struct step *summary,
                          bool *ret_kept, GError **error);

#endif
