/* SPDX-License-Identifier: Apache-2.0
 *
 * secret_json - see secret_json.h.
 */
#include "agent/wire/secret_json.h"

#include <string.h>

#include "common/errors.h"
#include "common/json_strings.h"
#include "common/message.h"

static const char *const fields[] = { "name", "value_from", "hosts", "headers",
                                      NULL };

/* Return a list of strings, NULL if it is none: a new one. Strings with NUL
 * become empty, which no name is. */
static char **strings_of(json_t *value)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    json_t *word;
    size_t i;

    if (!json_is_array(value))
        return NULL;
    json_array_foreach(value, i, word)
    {
        const char *text = json_string_value(word);

        g_ptr_array_add(
            words,
            g_strdup(text && strlen(text) == json_string_length(word) ? text
                                                                      : ""));
    }
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&words), FALSE);
}

static gboolean add(json_t *value, GPtrArray *list, GError **error)
{
    json_t *headers = json_object_get(value, "headers");
    g_auto(GStrv) hosts = strings_of(json_object_get(value, "hosts"));
    g_auto(GStrv) used = strings_of(headers);
    const char *name, *from;

    if (!message_check_known(value, fields, error) ||
        !message_get_string(value, "name", &name, error) ||
        !message_get_string(value, "value_from", &from, error))
        return FALSE;
    if (headers && !used) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'headers' of a secret must be a list of "
                            "strings");
        return FALSE;
    }
    return secret_list_add(list, name, from, hosts, used, error);
}

gboolean secrets_from_json(json_t *value, GPtrArray *list, GError **error)
{
    json_t *one;
    size_t i;

    if (value && !json_is_array(value)) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'secrets' must be a list of objects");
        return FALSE;
    }
    json_array_foreach(value, i, one)
    {
        if (!add(one, list, error))
            return FALSE;
    }
    return TRUE;
}

json_t *secrets_to_json(const GPtrArray *list)
{
    json_t *all = json_array();

    for (guint i = 0; i < list->len; i++) {
        const struct secret *secret = g_ptr_array_index(list, i);

        json_array_append_new(
            all, json_pack("{s:s, s:s, s:o, s:o}", "name", secret->name,
                           "value_from", secret->value_from, "hosts",
                           json_strings(secret->hosts), "headers",
                           json_strings(secret->headers)));
    }
    return all;
}
