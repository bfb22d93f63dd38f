/* SPDX-License-Identifier: Apache-2.0
 *
 * json_time - see json_time.h.
 */
#include "interceptor/log/json_time.h"

#include <glib.h>

json_t *json_time_from_us(int64_t us)
{
    g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(us / 1000000);
    g_autofree char *seconds = when ? g_date_time_format(when,
                                                         "%Y-%m-%dT%H:%M:%S")
                                    : g_strdup("?");

    return json_sprintf("%s.%06dZ", seconds, (int)(us % 1000000));
}
