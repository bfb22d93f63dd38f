/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_staged - empty and remove the staging directory (restore.h).
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_STAGED_H
#define INTERCEPTOR_RESTORE_RESTORE_STAGED_H

#include "interceptor/restore/restore_base.h"

/* Call after all names are attached: keep what is left in staging, or remove
 * it. 0 or -errno. */
int restore_close_staging(struct restore *r);

#endif
