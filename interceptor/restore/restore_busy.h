/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_busy - check for files that another process keeps from being written.
 *
 * These are running programs (execve(2), ETXTBSY) and leased files: opening one
 * for writing breaks the lease, but only after a time (fcntl(2), F_SETLEASE;
 * EAGAIN). A rollback that met one would stop half-way.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_BUSY_H
#define INTERCEPTOR_RESTORE_RESTORE_BUSY_H

#include "interceptor/restore/restore_base.h"

/* Run after the survey. ERROR_BUSY, which names the file. */
gboolean restore_check_busy(struct restore *r, GError **error);

#endif
