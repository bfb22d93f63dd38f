/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_keys - see exec_keys.h.
 */
#include "agent/cli/exec_keys.h"

#include <glib.h>
#include <string.h>

struct exec_keys {
    char *sequence;
    size_t matched; /* bytes of the sequence that were held back */
};

/* Return the byte of one key, or 0. */
static char parse_key(const char *key)
{
    char c;

    if (key[0] && !key[1])
        return key[0];
    if (g_ascii_strncasecmp(key, "ctrl-", 5) != 0 || !key[5] || key[6])
        return '\0';
    c = g_ascii_toupper(key[5]);
    return c > '@' && c <= '_' ? (char)(c - '@') : '\0';
}

char *exec_keys_parse(const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    g_autoptr(GString) keys = g_string_new(NULL);

    for (char **word = words; *word; word++) {
        char key = parse_key(*word);

        if (!key || keys->len == EXEC_KEYS_MAX)
            return NULL;
        g_string_append_c(keys, key);
    }
    return keys->len ? g_string_free(g_steal_pointer(&keys), FALSE) : NULL;
}

struct exec_keys *exec_keys_new(const char *sequence)
{
    struct exec_keys *keys = g_new0(struct exec_keys, 1);

    keys->sequence = g_strdup(sequence);
    return keys;
}

void exec_keys_free(struct exec_keys *keys)
{
    if (!keys)
        return;
    g_free(keys->sequence);
    g_free(keys);
}

bool exec_keys_filter(struct exec_keys *keys, char *data, size_t *len)
{
    g_autoptr(GString) out = g_string_new(NULL);

    for (size_t i = 0; i < *len; i++) {
        if (data[i] != keys->sequence[keys->matched]) {
            g_string_append_len(out, keys->sequence, (gssize)keys->matched);
            keys->matched = 0;
        }
        if (data[i] == keys->sequence[keys->matched])
            keys->matched++;
        else
            g_string_append_c(out, data[i]);
        if (!keys->sequence[keys->matched])
            return true;
    }
    memcpy(data, out->str, out->len);
    *len = out->len;
    return false;
}
