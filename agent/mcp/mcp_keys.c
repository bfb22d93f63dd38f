/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_keys - see mcp_keys.h.
 */
#include "agent/mcp/mcp_keys.h"

#include <string.h>

#define CTRL "ctrl-"

static const struct {
    const char *name, *bytes;
} table[] = {
    { "enter", "\r" },          { "tab", "\t" },
    { "escape", "\033" },       { "backspace", "\177" },
    { "delete", "\033[3~" },    { "up", "\033[A" },
    { "down", "\033[B" },       { "right", "\033[C" },
    { "left", "\033[D" },       { "home", "\033[H" },
    { "end", "\033[F" },        { "page_up", "\033[5~" },
    { "page_down", "\033[6~" },
};

static bool append(GString *data, const char *name)
{
    const char *letter = name + strlen(CTRL);

    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        if (strcmp(table[i].name, name) == 0) {
            g_string_append(data, table[i].bytes);
            return true;
        }
    }
    if (!g_str_has_prefix(name, CTRL) || !letter[0] || letter[1] ||
        !strchr("abcdefghijklmnopqrstuvwxyz\\]", letter[0]))
        return false;
    g_string_append_c(data, (char)(letter[0] & 0x1f));
    return true;
}

bool mcp_keys_append(GString *data, json_t *keys, char **ret_problem)
{
    json_t *key;
    size_t i;

    json_array_foreach(keys, i, key)
    {
        const char *name = json_string_value(key);

        if (append(data, name))
            continue;
        *ret_problem = g_strdup_printf(
            "unknown key '%.40s'; there are enter, tab, escape, backspace, "
            "delete, up, down, left, right, home, end, page_up, page_down, and "
            "ctrl-a to ctrl-z, ctrl-\\ and ctrl-]",
            name);
        return false;
    }
    return true;
}
