/* SPDX-License-Identifier: Apache-2.0
 *
 * payload - see payload.h.
 */
#include "agent/wire/payload.h"

#include <string.h>

#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/message.h"

enum { ROLLBACK_MAX = 1000000 };

gboolean payload_invalid(const char *member, const char *problem,
                         GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, "the field '%s' %s",
                member, problem);
    return FALSE;
}

gboolean payload_check_has(json_t *payload, const char *member, GError **error)
{
    if (json_object_get(payload, member))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_MISSING_FIELD,
                "the field '%s' is missing", member);
    return FALSE;
}

char *payload_bytes(json_t *value, const char *key)
{
    const char *const known[] = { key, "encoding", NULL };
    const char *encoding = json_string_value(
        json_object_get(value, "encoding"));
    g_autofree char *bytes = NULL;
    size_t len = 0;

    if (json_is_string(value)) {
        bytes = g_strdup(json_string_value(value));
        len = json_string_length(value);
    } else if (message_check_known(value, known, NULL) &&
               g_strcmp0(encoding, "base64") == 0) {
        bytes = json_bytes_get(value, key, &len);
    }
    return bytes && strlen(bytes) == len ? g_steal_pointer(&bytes) : NULL;
}

gboolean payload_get_bytes(json_t *payload, const char *member, const char *key,
                           char **ret_bytes, GError **error)
{
    json_t *value = json_object_get(payload, member);
    char *bytes = payload_bytes(value, key);

    if (!bytes)
        return !value ||
               payload_invalid(member,
                               "must be a string without NUL, or an object "
                               "that holds its bytes in base64",
                               error);
    g_free(*ret_bytes);
    *ret_bytes = bytes;
    return TRUE;
}

struct folder_ref folder_from_json(json_t *payload)
{
    json_t *field = json_object_get(payload, "directory");
    const char *name = json_string_value(field);

    if (json_is_integer(field))
        return (struct folder_ref){ .given = true,
                                    .index = json_integer_value(field) };
    return (struct folder_ref){ .given = field != NULL,
                                .name = name ? name : "",
                                .index = -1 };
}

gboolean payload_get_paths(json_t *payload, GPtrArray **ret_paths,
                           GError **error)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    json_t *list = json_object_get(payload, "paths"), *value;
    size_t i;

    json_array_foreach(list, i, value)
    {
        char *path = payload_bytes(value, "path");

        if (!path)
            break;
        g_ptr_array_add(paths, path);
    }
    if (paths->len == 0 || paths->len < json_array_size(list))
        return payload_invalid("paths",
                               "must be an array of at least one path, each "
                               "text or base64, without NUL",
                               error);
    *ret_paths = g_steal_pointer(&paths);
    return TRUE;
}

gboolean payload_get_extent(json_t *payload, struct undo_extent *ret_extent,
                            GError **error)
{
    gboolean force = FALSE;
    gint64 steps = 1, id = 0;

    if (!message_get_optional_int(payload, "steps", 1, ROLLBACK_MAX, &steps,
                                  error) ||
        !message_get_optional_int(payload, "step_id", G_MININT64, G_MAXINT64,
                                  &id, error) ||
        !message_get_optional_bool(payload, "force", &force, error))
        return FALSE;
    if (json_object_get(payload, "step_id") &&
        (json_object_get(payload, "steps") || id == 0)) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            id == 0 ? "the field 'step_id' must not be 0; "
                                      "undo.history lists the steps"
                                    : "give either 'steps' or 'step_id', not "
                                      "both");
        return FALSE;
    }
    *ret_extent = (struct undo_extent){ (unsigned)steps, id, force };
    return TRUE;
}

gboolean payload_get_diff(json_t *payload, struct patch_request *ret_request,
                          GPtrArray **ret_paths, bool *ret_patch,
                          GError **error)
{
    json_t *list = json_object_get(payload, "paths");
    const char *format = "files";
    gint64 step, first = 0;

    if (!message_get_int(payload, "step_id", G_MININT64, G_MAXINT64, &step,
                         error) ||
        !message_get_optional_int(payload, "first", 0, G_MAXINT32, &first,
                                  error) ||
        !message_get_optional_string(payload, "format", &format, error))
        return FALSE;
    *ret_patch = strcmp(format, "patch") == 0;
    if (!*ret_patch && strcmp(format, "files") != 0)
        return payload_invalid("format", "must be files or patch", error);
    if (list && !*ret_patch)
        return payload_invalid("paths", "needs the format patch", error);
    if (list && !payload_get_paths(payload, ret_paths, error))
        return FALSE;
    if (list)
        g_ptr_array_add(*ret_paths, NULL);
    *ret_request = (struct patch_request){
        .step = step,
        .first = (unsigned)first,
        .max = SESSION_PATCH_MAX,
        .paths = list ? (char *const *)(*ret_paths)->pdata : NULL,
    };
    return TRUE;
}
