/* SPDX-License-Identifier: Apache-2.0
 *
 * fail - see fail.h.
 */
#include "interceptor/sys/fail.h"

#include "common/errors.h"

gboolean fail_errno(GError **error, int code, const char *what, int rc)
{
    g_set_error(error, STEPBACK_ERROR, code, "%s: %s", what, g_strerror(-rc));
    return FALSE;
}
