/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_log - the supervisor's log file as its standard error.
 *
 * SANDBOX_LOG is renamed to SANDBOX_LOG_OLD when it has grown too long, so both
 * together are bounded.
 */
#ifndef AGENT_SANDBOX_SANDBOX_LOG_H
#define AGENT_SANDBOX_SANDBOX_LOG_H

#include <glib.h>

enum { SANDBOX_LOG_MAX = 4 << 20 };

/* Direct standard output and error to the log of this state directory, for
 * appending. Fails with ERROR_IO_ERROR. */
gboolean sandbox_log_open(int dir_fd, GError **error);

/* Begin a new file if the log is longer than SANDBOX_LOG_MAX. */
void sandbox_log_rotate(int dir_fd);

#endif
