/* SPDX-License-Identifier: Apache-2.0
 *
 * payload - see payload.h.
 */
#include "agent/wire/payload.h"

#include <string.h>

#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/message.h"

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
        return !value || payload_invalid(member,
                                         "must be a string without NUL, or an "
                                         "object with its bytes in base64",
                                         error);
    g_free(*ret_bytes);
    *ret_bytes = bytes;
    return TRUE;
}
