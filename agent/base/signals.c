/* SPDX-License-Identifier: Apache-2.0
 *
 * signals - see signals.h.
 */
#include "agent/base/signals.h"

#include <glib.h>
#include <signal.h>
#include <string.h>

int signals_number(const char *name)
{
    guint64 number;

    if (g_ascii_string_to_unsigned(name, 10, 1, SIGRTMAX, &number, NULL))
        return (int)number;
    if (g_ascii_strncasecmp(name, "SIG", 3) == 0)
        name += 3;
    for (int i = 1; i < SIGRTMIN; i++) {
        const char *known = sigabbrev_np(i); /* glibc 2.32 */

        if (known && g_ascii_strcasecmp(name, known) == 0)
            return i;
    }
    return 0;
}
