/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_preimages - check the content that the step kept.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_PREIMAGES_H
#define INTERCEPTOR_RESTORE_RESTORE_PREIMAGES_H

#include "interceptor/restore/restore_base.h"

/* Check that all content that the step kept is intact. Changes nothing but
 * STEP_ALL in memory. With r->damaged_too, damaged content is left out with a
 * warning. */
gboolean restore_check_preimages(struct restore *r, GError **error);

/* Open the clone that the step kept of the inode. An fd or -errno; -EBADMSG: it
 * does not match the record. */
int restore_open_clone(const struct restore *r, const struct step_inode *inode);

#endif
