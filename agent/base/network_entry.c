/* SPDX-License-Identifier: Apache-2.0
 *
 * network_entry - see network_entry.h.
 */
#include "agent/base/network_entry.h"

#include <idn2.h>
#include <string.h>

#include "agent/base/network_preset.h"

/* Return a new string: the entry with A-labels. */
static char *convert(const char *entry, GError **error)
{
    struct network_name_extent extent = network_name_find(entry);
    g_autofree char *name = g_strndup(entry + extent.start, extent.length);
    char *converted = NULL, *result;
    int code = idn2_to_ascii_8z(name, &converted,
                                IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT);

    if (code != IDN2_OK) {
        g_autofree char *problem = g_strdup_printf(
            "the name is not valid by IDNA 2008 (%s); check its spelling, or "
            "use its A-labels (xn--...)",
            idn2_strerror(code));

        network_name_problem(error, entry, extent.start + 1, problem);
        return NULL;
    }
    result = g_strdup_printf("%.*s%s%s", (int)extent.start, entry, converted,
                             entry + extent.start + extent.length);
    idn2_free(converted);
    return result;
}

static gboolean add_one(struct network_policy *policy, const char *entry,
                        GError **error)
{
    g_autofree char *converted = NULL, *shown = NULL;

    if (g_str_is_ascii(entry) || !network_name_is_meant(entry))
        return network_policy_add(policy, entry, error);
    converted = convert(entry, error);
    if (!converted)
        return FALSE;
    if (network_policy_add(policy, converted, error))
        return TRUE;
    shown = network_name_printable(entry);
    g_prefix_error(error, "'%s' in A-labels: ", shown);
    return FALSE;
}

gboolean network_entry_add(struct network_policy *policy, const char *entry,
                           GError **error)
{
    return network_preset_name(entry)
               ? network_preset_add(policy, entry, add_one, error)
               : add_one(policy, entry, error);
}
