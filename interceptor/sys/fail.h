/* SPDX-License-Identifier: Apache-2.0
 *
 * fail - errors of system calls as errors of the protocols.
 */
#ifndef INTERCEPTOR_SYS_FAIL_H
#define INTERCEPTOR_SYS_FAIL_H

#include <glib.h>

/* FALSE, and "what: what errno -rc means" as the error. */
gboolean fail_errno(GError **error, int code, const char *what, int rc);

#endif
