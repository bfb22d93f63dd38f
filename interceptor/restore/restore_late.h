/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_late - continue a restore when files vanish meanwhile.
 *
 * restore_lost.h finds what is gone before a rollback changes anything. Files
 * and directories can also go later: while the rollback runs, or between a kill
 * and the start that completes it. If the restore stopped there, each later try
 * would stop too, and the log would become unusable. A restore with
 * RESTORE_EDITED therefore makes a missing directory anew, and a file of which
 * the log has all content, and leaves out the rest as lost.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_LATE_H
#define INTERCEPTOR_RESTORE_RESTORE_LATE_H

#include "interceptor/restore/restore_base.h"

/* Note that the directory, or one above it, is not at its home. */
void restore_note_gone_folder(struct restore *r, struct step_inode *dir);

/* After restore_run() has failed with rc: 1 if it can be tried again without
 * the missing inode (r->gone); else rc, or another -errno. */
int restore_go_without(struct restore *r, int rc);

#endif
