/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_parts - see sandbox_parts.h.
 */
#include "common/sandbox_parts.h"

#include <errno.h>

#include "common/errors.h"

gboolean sandbox_fail(GError **error, const char *what)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "sandbox: %s: %s", what,
                g_strerror(errno));
    return FALSE;
}
