/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_relax - open directories that are closed to their owner.
 *
 * A directory without the owner's rights stops a restore by a user who is not
 * root. The restore gives it these rights, after its metadata is recorded in
 * the manifest: the end of this restore, or of one that continues after a kill,
 * sets that. A restore that fails closes its directories again at once
 * (restore_return_modes()).
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_RELAX_H
#define INTERCEPTOR_RESTORE_RESTORE_RELAX_H

#include "interceptor/restore/restore_base.h"

/* Make a directory of our own writable for ourselves. Directories without a
 * record are the step's, and need none. */
void restore_relax(struct restore *r, int dirfd);

#endif
