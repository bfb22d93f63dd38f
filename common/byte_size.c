/* SPDX-License-Identifier: Apache-2.0
 *
 * byte_size - see byte_size.h.
 */
#include "common/byte_size.h"

#include <glib.h>
#include <string.h>

bool byte_size_parse(const char *text, int64_t *ret_bytes)
{
    static const char units[] = "KMGT";
    guint64 number = 0;
    const char *unit;
    char *end = NULL;
    int shift = 0;

    if (g_ascii_isdigit(*text))
        number = g_ascii_strtoull(text, &end, 10);
    if (end && *end && (unit = strchr(units, g_ascii_toupper(*end)))) {
        shift = 10 * (int)(unit - units + 1);
        end++;
    }
    if (!end || *end || number == 0 || number > (guint64)(G_MAXINT64 >> shift))
        return false;
    *ret_bytes = (int64_t)(number << shift);
    return true;
}
