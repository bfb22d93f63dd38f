/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_busy - a part of a restore's check: files that somebody else keeps
 * from being written to.
 *
 * A program that runs (execve(2), ETXTBSY), or a file with a lease, which an
 * open for writing breaks, but in its own time (fcntl(2), F_SETLEASE; EAGAIN).
 * A rollback that came upon one would stop half-way.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_BUSY_H
#define INTERCEPTOR_RESTORE_RESTORE_BUSY_H

#include "interceptor/restore/restore_base.h"

/* After the survey. ERROR_BUSY, which names the file. */
gboolean restore_check_busy(struct restore *r, GError **error);

#endif
