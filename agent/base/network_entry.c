/* SPDX-License-Identifier: Apache-2.0
 *
 * network_entry - see network_entry.h.
 */
#include "agent/base/network_entry.h"

#include <idn2.h>
#include <string.h>

#include "agent/base/network_preset.h"
#include "common/errors.h"

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

/* ---- hints for what is close to an entry --------------------------------- */

static gboolean check_case(const char *entry, GError **error)
{
    static const char *const keywords[] = {
        "raw:", "deny:", "intercept:", "ask:", "preset:", "open", "dns", "none"
    };
    g_autofree char *problem = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(keywords); i++) {
        const char *word = keywords[i];
        size_t length = strlen(word);
        bool same = word[length - 1] == ':'
                        ? g_ascii_strncasecmp(entry, word, length) == 0
                        : g_ascii_strcasecmp(entry, word) == 0;

        if (!same || strncmp(entry, word, length) == 0)
            continue;
        problem = g_strdup_printf("write %s in lower case", word);
        return network_name_problem(error, entry, 1, problem);
    }
    return TRUE;
}

static gboolean check_word(const char *entry, GError **error)
{
    static const char *const none[] = { "off", "no", "false", "disabled",
                                        NULL };
    static const char *const open[] = { "on",  "yes", "true", "all",
                                        "any", "*",   NULL };
    g_autofree char *problem = NULL, *lower = g_ascii_strdown(entry, -1);

    if (g_strv_contains(none, lower))
        return network_name_problem(error, entry, 1,
                                    "for no network write none, alone");
    if (g_strv_contains(open, lower))
        return network_name_problem(error, entry, 1,
                                    "for the open network write open");
    if (*entry && !entry[strspn(entry, "0123456789")])
        return network_name_problem(
            error, entry, 1,
            "a port belongs to an address or a name, each with its own, as in "
            "example.org:443,example.org:8443");
    if (!network_preset_exists(lower))
        return TRUE;
    problem = g_strdup_printf(
        "a name needs at least two labels; for the preset "
        "write preset:%s",
        lower);
    return network_name_problem(error, entry, 1, problem);
}

static gboolean check_word_of_ours(const char *entry, GError **error)
{
    return !g_str_has_prefix(entry, "secret:") ||
           network_name_problem(error, entry, 1,
                                "secret: is no entry for a list; use the "
                                "option --secret");
}

gboolean network_entry_add(struct network_policy *policy, const char *entry,
                           GError **error)
{
    if (!check_case(entry, error) || !check_word(entry, error) ||
        !check_word_of_ours(entry, error))
        return FALSE;
    return network_preset_name(entry)
               ? network_preset_add(policy, entry, add_one, error)
               : add_one(policy, entry, error);
}

static bool is_printable(const char *text)
{
    for (; *text; text = g_utf8_next_char(text)) {
        if (!g_unichar_isgraph(g_utf8_get_char(text)))
            return false;
    }
    return true;
}

char *network_entry_unicode(const char *name)
{
    char *converted = NULL, *result = NULL;

    if (idn2_to_unicode_8z8z(name, &converted, IDN2_NONTRANSITIONAL) ==
            IDN2_OK &&
        g_utf8_validate(converted, -1, NULL) && is_printable(converted) &&
        strcmp(converted, name) != 0)
        result = g_strdup(converted);
    if (converted)
        idn2_free(converted);
    return result;
}
