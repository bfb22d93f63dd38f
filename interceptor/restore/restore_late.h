/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_late - go on without what another process took away half-way.
 *
 * restore_lost.h finds what is gone before a rollback changes anything. Files
 * and folders can also go later: while the rollback runs, or between a kill and
 * the start that finishes it. Stopping there would stop each later try as well,
 * and the log would be usable no more. A restore that goes on over changes by
 * other processes (RESTORE_EDITED) therefore makes a missing folder anew, does
 * the same to a file of which the log has all content, and leaves out the rest
 * as lost.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_LATE_H
#define INTERCEPTOR_RESTORE_RESTORE_LATE_H

#include "interceptor/restore/restore_base.h"

/* Note that the folder, or one above it, is not at its home. */
void restore_note_gone_folder(struct restore *r, struct step_inode *dir);

/* After restore_run() has failed with rc: 1 if it can be tried again, without
 * what was noted as gone (r->gone); else rc, or another -errno. */
int restore_go_without(struct restore *r, int rc);

#endif
