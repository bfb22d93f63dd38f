/* SPDX-License-Identifier: Apache-2.0
 *
 * no_proxy - see no_proxy.h.
 */
#include "agent/base/no_proxy.h"

#include <glib.h>
#include <string.h>

#include "common/network_name.h"

/* Cut the port off. Return false if the entry has another one. */
static bool take_port(char *entry, unsigned port)
{
    char *colon = strchr(entry, ':');
    guint64 wanted;

    if (!colon)
        return true;
    *colon = '\0';
    return g_ascii_string_to_unsigned(colon + 1, 10, 1, 65535, &wanted, NULL) &&
           wanted == port;
}

static bool entry_matches(char *entry, const char *name, unsigned port)
{
    char wanted[NETWORK_NAME_MAX + 1];

    if (!take_port(entry, port))
        return false;
    if (strcmp(entry, "*") == 0)
        return true;
    entry += g_str_has_prefix(entry, "*.");
    entry += *entry == '.';
    return network_name_normalize(entry, wanted) &&
           (strcmp(name, wanted) == 0 || network_name_is_below(name, wanted));
}

bool no_proxy_matches(const char *value, const char *name, unsigned port)
{
    g_auto(GStrv) entries = g_strsplit_set(value ? value : "", ", \t\r\n", -1);

    for (char **entry = entries; *entry; entry++) {
        if (entry_matches(*entry, name, port))
            return true;
    }
    return false;
}
