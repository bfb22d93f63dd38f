/* SPDX-License-Identifier: Apache-2.0
 *
 * step_name - see step_name.h.
 */
#include "interceptor/log/step_name.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_bytes.h"

bool step_name_is_plain(const char *name)
{
    for (; *name; name++) {
        if (*name < ' ' || *name > '~' || *name == '"' || *name == '\\')
            return false;
    }
    return true;
}

char *step_name_quote(const char *name, const char **ret_key)
{
    size_t len = strlen(name);
    bool text = json_bytes_is_text(name, len);
    g_autofree char *encoded = text
                                   ? NULL
                                   : g_base64_encode((const guchar *)name, len);
    json_t *value = json_string(text ? name : encoded);
    char *dumped = json_dumps(value, JSON_ENCODE_ANY);
    char *quoted = g_strdup(dumped);

    free(dumped);
    json_decref(value);
    *ret_key = text ? "n" : "n64";
    return quoted;
}

void step_name_append(GString *text, const char *name)
{
    const char *key = "n";
    g_autofree char *quoted = NULL;

    if (step_name_is_plain(name)) {
        g_string_append_printf(text, ",\"n\":\"%s\"", name);
        return;
    }
    quoted = step_name_quote(name, &key);
    g_string_append_printf(text, ",\"%s\":%s", key, quoted);
}

static bool is_component(const char *name, size_t len)
{
    return len > 0 && len <= 255 && strlen(name) == len &&
           strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* The log is not trusted: a name must not escape from the share (I5). */
char *step_name_from_record(json_t *record)
{
    json_t *text = json_object_get(record, "n");
    const char *encoded = json_string_value(json_object_get(record, "n64"));
    g_autofree char *name = NULL;
    gsize len = 0;

    if (text) {
        len = json_string_length(text);
        name = g_strndup(json_is_string(text) ? json_string_value(text) : "",
                         len);
    } else if (encoded) {
        g_autofree guchar *data = g_base64_decode(encoded, &len);

        name = g_strndup((char *)data, len);
    }
    return name && is_component(name, len) ? g_steal_pointer(&name) : NULL;
}
