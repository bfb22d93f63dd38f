/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_lost - do without what somebody else has taken away.
 *
 * A step that is taken back by force, or after a crash, may have changed a
 * file or a folder that is no longer there, and of which the log has no copy:
 * removed from outside, or replaced by another one of that name. Such an inode
 * is lost to this rollback, and so is what has no place but in lost folders.
 * Everything else is restored, and what is now at its names is left alone.
 *
 * What is lost is recorded before anything is changed, since in the middle of
 * a rollback it cannot be told any more.
 */
#ifndef INTERCEPTOR_RESTORE_LOST_H
#define INTERCEPTOR_RESTORE_LOST_H

#include "interceptor/restore_names.h"

/* Nothing has been changed yet: find what is lost and record it. 0 or -errno.
 */
int restore_find_lost(struct restore *r);

/* Take what is lost out of the step's tables. 0 or -errno: it cannot be told,
 * and the tables are as they were. */
int restore_drop_lost(struct restore *r);

#endif
