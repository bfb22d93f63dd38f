/* SPDX-License-Identifier: Apache-2.0
 *
 * message - see message.h.
 */
#include "common/message.h"

#include <string.h>

static json_t *id_value(const char *request_id)
{
    return request_id ? json_string(request_id) : json_null();
}

static json_t *object_or_empty(json_t *object)
{
    return object ? object : json_object();
}

json_t *message_request(const char *type, const char *request_id,
                        json_t *payload)
{
    return json_pack("{s:s, s:o, s:o}", "type", type, "request_id",
                     id_value(request_id), "payload", object_or_empty(payload));
}

json_t *message_event(const char *type, json_t *payload)
{
    return json_pack("{s:s, s:o}", "type", type, "payload",
                     object_or_empty(payload));
}

json_t *message_response(const char *request_id, json_t *payload)
{
    return json_pack("{s:s, s:o, s:s, s:o}", "type", "response", "request_id",
                     id_value(request_id), "status", "ok", "payload",
                     object_or_empty(payload));
}

json_t *message_error(const char *request_id, enum error_code code,
                      const char *text, json_t *data)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);

    return json_pack("{s:s, s:o, s:s, s:{s:s, s:i, s:s, s:o}}", "type",
                     "response", "request_id", id_value(request_id), "status",
                     "error", "error", "code", error_code_name(code), "number",
                     (int)code, "message", valid, "data",
                     object_or_empty(data));
}

json_t *message_gerror_with(const char *request_id, const GError *error,
                            json_t *data)
{
    return message_error(request_id, (enum error_code)error_code_of(error),
                         error->message, data);
}

json_t *message_gerror(const char *request_id, const GError *error)
{
    return message_gerror_with(request_id, error, NULL);
}

json_t *message_error_data(json_t *response)
{
    json_t *data = json_object_get(json_object_get(response, "error"), "data");

    return json_object_size(data) > 0 ? data : NULL;
}

gboolean message_is_error(json_t *response, GError **error)
{
    const char *status = json_string_value(json_object_get(response, "status"));
    json_t *detail = json_object_get(response, "error");
    const char *code = json_string_value(json_object_get(detail, "code"));
    const char *text = json_string_value(json_object_get(detail, "message"));

    if (g_strcmp0(status, "ok") == 0)
        return FALSE;
    g_set_error_literal(error, STEPBACK_ERROR, (int)error_code_from_name(code),
                        text ? text
                             : "the peer sent an error without a message");
    return TRUE;
}

static gboolean missing(const char *key, GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_MISSING_FIELD,
                "the field '%s' is missing", key);
    return FALSE;
}

static gboolean invalid(const char *key, const char *wanted, GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "the field '%s' must be %s", key, wanted);
    return FALSE;
}

gboolean message_get_optional_string(json_t *payload, const char *key,
                                     const char **ret_value, GError **error)
{
    json_t *member = json_object_get(payload, key);

    if (!member)
        return TRUE;
    if (!json_is_string(member) ||
        json_string_length(member) != strlen(json_string_value(member)))
        return invalid(key, "a string without NUL", error);
    *ret_value = json_string_value(member);
    return TRUE;
}

gboolean message_get_string(json_t *payload, const char *key,
                            const char **ret_value, GError **error)
{
    if (!json_object_get(payload, key))
        return missing(key, error);
    return message_get_optional_string(payload, key, ret_value, error);
}

gboolean message_get_optional_int(json_t *payload, const char *key, gint64 min,
                                  gint64 max, gint64 *ret_value, GError **error)
{
    json_t *member = json_object_get(payload, key);

    if (!member)
        return TRUE;
    if (!json_is_integer(member) || json_integer_value(member) < min ||
        json_integer_value(member) > max) {
        g_autofree char *wanted = g_strdup_printf(
            "a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
            min, max);

        return invalid(key, wanted, error);
    }
    *ret_value = json_integer_value(member);
    return TRUE;
}

gboolean message_get_int(json_t *payload, const char *key, gint64 min,
                         gint64 max, gint64 *ret_value, GError **error)
{
    if (!json_object_get(payload, key))
        return missing(key, error);
    return message_get_optional_int(payload, key, min, max, ret_value, error);
}

gboolean message_get_optional_bool(json_t *payload, const char *key,
                                   gboolean *ret_value, GError **error)
{
    json_t *member = json_object_get(payload, key);

    if (!member)
        return TRUE;
    if (!json_is_boolean(member))
        return invalid(key, "true or false", error);
    *ret_value = json_is_true(member);
    return TRUE;
}

gboolean message_check_known(json_t *object, const char *const *known,
                             GError **error)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        g_autofree char *all = NULL;

        if (g_strv_contains(known, key))
            continue;
        all = g_strjoinv(", ", (char **)known);
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    *all ? "unknown field '%s'; allowed: %s"
                         : "unknown field '%s'; no field is allowed%s",
                    key, all);
        return FALSE;
    }
    return TRUE;
}
