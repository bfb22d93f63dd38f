/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_detach - move aside what no binding names (restore.h, 2).
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_DETACH_H
#define INTERCEPTOR_RESTORE_RESTORE_DETACH_H

#include "interceptor/restore/restore_base.h"

/* 0 or -errno. */
int restore_detach(struct restore *r);

#endif
