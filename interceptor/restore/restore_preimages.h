/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_preimages - the part of a restore's check that reads the content
 * that the step kept.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_PREIMAGES_H
#define INTERCEPTOR_RESTORE_RESTORE_PREIMAGES_H

#include "interceptor/restore/restore_base.h"

/* Is all content that the step kept there and intact? Nothing is changed but
 * STEP_ALL in memory. With r->damaged_too, what is not is left out, with a
 * warning. */
gboolean restore_check_preimages(struct restore *r, GError **error);

/* Open the clone that the step kept of the inode. An fd or -errno; -EBADMSG: it
 * is not what the record says. */
int restore_open_clone(const struct restore *r, const struct step_inode *inode);

#endif
