/* SPDX-License-Identifier: Apache-2.0
 *
 * fail - turn errors of system calls into errors of the protocols.
 */
#ifndef INTERCEPTOR_SYS_FAIL_H
#define INTERCEPTOR_SYS_FAIL_H

#include <glib.h>

/* Set the error to "what: text of errno -rc". Returns FALSE. */
gboolean fail_errno(GError **error, int code, const char *what, int rc);

#endif
