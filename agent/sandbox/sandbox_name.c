/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_name - see sandbox_name.h.
 */
#include "agent/sandbox/sandbox_name.h"

#include <glib.h>
#include <string.h>

static bool is_alnum(char c)
{
    return g_ascii_islower(c) || g_ascii_isdigit(c);
}

static bool is_allowed(char c)
{
    return is_alnum(c) || c == '.' || c == '_' || c == '-';
}

bool sandbox_name_is_valid(const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len > SANDBOX_NAME_MAX || !is_alnum(name[0]))
        return false;
    for (const char *c = name; *c; c++) {
        if (!is_allowed(*c))
            return false;
    }
    return true;
}

char *sandbox_name_of_folder(const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    GString *name = g_string_new(NULL);

    for (const char *c = base; *c && name->len < SANDBOX_NAME_MAX; c++) {
        char lower = g_ascii_tolower(*c);

        if (is_allowed(lower) && (name->len > 0 || is_alnum(lower)))
            g_string_append_c(name, lower);
        else if (name->len > 0 && name->str[name->len - 1] != '-')
            g_string_append_c(name, '-');
    }
    while (name->len > 0 && !is_alnum(name->str[name->len - 1]))
        g_string_truncate(name, name->len - 1);
    if (name->len == 0)
        g_string_assign(name, "sandbox");
    return g_string_free(name, FALSE);
}

char *sandbox_name_numbered(const char *name, unsigned n)
{
    g_autofree char *suffix = n > 1 ? g_strdup_printf("-%u", n) : g_strdup("");
    int room = SANDBOX_NAME_MAX - (int)strlen(suffix);

    return g_strdup_printf("%.*s%s", room, name, suffix);
}
