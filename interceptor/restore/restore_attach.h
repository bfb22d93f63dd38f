/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_attach - attach each binding's inode (restore.h, 3).
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_ATTACH_H
#define INTERCEPTOR_RESTORE_RESTORE_ATTACH_H

#include "interceptor/restore/restore_base.h"

/* 0 or -errno; after an error r->trouble names the binding. */
int restore_attach(struct restore *r);

#endif
