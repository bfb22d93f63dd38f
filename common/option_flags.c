/* SPDX-License-Identifier: Apache-2.0
 *
 * option_flags - see option_flags.h.
 */
#include "common/option_flags.h"

#include <stdbool.h>
#include <string.h>

static bool takes_value(const GOptionEntry *entry)
{
    return entry->arg != G_OPTION_ARG_NONE &&
           !(entry->flags &
             (G_OPTION_FLAG_NO_ARG | G_OPTION_FLAG_OPTIONAL_ARG));
}

/* Return NULL for an unknown option, which the parser refuses. */
static const GOptionEntry *find_long(const GOptionEntry *entries,
                                     const char *name, size_t len)
{
    for (; entries->long_name; entries++) {
        if (strncmp(entries->long_name, name, len) == 0 &&
            entries->long_name[len] == '\0')
            return entries;
    }
    return NULL;
}

static const GOptionEntry *find_short(const GOptionEntry *entries, char name)
{
    for (; entries->long_name; entries++) {
        if (entries->short_name == name)
            return entries;
    }
    return NULL;
}

/* Return whether the value of the last option in "-abc VALUE" is the next word.
 */
static bool last_takes_next(const GOptionEntry *entries, const char *letters)
{
    for (; *letters; letters++) {
        const GOptionEntry *entry = find_short(entries, *letters);

        if (entry && takes_value(entry))
            return letters[1] == '\0';
    }
    return false;
}

/* Check "--name" or "--name=VALUE". */
static gboolean check_long(const GOptionEntry *entries, const char *name,
                           bool *ret_takes_next, GError **error)
{
    size_t len = strcspn(name, "=");
    const GOptionEntry *entry = find_long(entries, name, len);

    *ret_takes_next = entry && takes_value(entry) && name[len] == '\0';
    if (!entry || entry->arg != G_OPTION_ARG_NONE || name[len] == '\0')
        return TRUE;
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "--%s takes no value; omit the option or \"%s\"",
                entry->long_name, name + len);
    return FALSE;
}

gboolean option_flags_check(const GOptionEntry *entries, char *const *argv,
                            gboolean strict, GError **error)
{
    bool is_value = false;

    for (unsigned i = 1; argv[0] && argv[i]; i++) {
        const char *word = argv[i];

        if (is_value) {
            is_value = false;
        } else if (strcmp(word, "--") == 0) {
            return TRUE;
        } else if (strncmp(word, "--", 2) == 0) {
            if (!check_long(entries, word + 2, &is_value, error))
                return FALSE;
        } else if (word[0] == '-' && word[1] != '\0') {
            is_value = last_takes_next(entries, word + 1);
        } else if (strict) {
            return TRUE;
        }
    }
    return TRUE;
}
