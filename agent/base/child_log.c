/* SPDX-License-Identifier: Apache-2.0
 *
 * child_log - see child_log.h.
 */
#include "agent/base/child_log.h"

#include <glib.h>
#include <jansson.h>
#include <string.h>

#include "common/log.h"

static void keep_error(char **last_error, const char *text)
{
    if (!last_error)
        return;
    g_free(*last_error);
    *last_error = g_strdup(text);
}

/* The line's extra fields, plus the name of the program that wrote it. */
static json_t *other_fields(json_t *json, const char *name)
{
    json_t *fields = json_copy(json);

    json_object_del(fields, "level");
    json_object_del(fields, "component");
    json_object_del(fields, "message");
    json_object_del(fields, "timestamp");
    json_object_set_new(fields, "program", json_string(name));
    return fields;
}

void child_log_line(const char *name, const char *component, const char *line,
                    char **last_error)
{
    json_t *json = json_loads(line, 0, NULL);
    const char *level_name = json_string_value(json_object_get(json, "level"));
    const char *its_component = json_string_value(
        json_object_get(json, "component"));
    const char *text = json_string_value(json_object_get(json, "message"));
    enum log_level level;

    if (level_name && text && log_level_parse(level_name, &level)) {
        if (level == LOG_LEVEL_ERROR)
            keep_error(last_error, text);
        log_emit(level, its_component ? its_component : component,
                 other_fields(json, name), "%s", text);
    } else {
        keep_error(last_error, line);
        log_emit(LOG_LEVEL_WARN, component, json_pack("{s:s}", "program", name),
                 "%s", line);
    }
    json_decref(json);
}
