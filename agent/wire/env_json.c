/* SPDX-License-Identifier: Apache-2.0
 *
 * env_json - see env_json.h.
 */
#include "agent/wire/env_json.h"

#include <string.h>

#include "agent/wire/payload.h"
#include "common/errors.h"
#include "common/json_bytes.h"

gboolean env_from_json(json_t *payload, char ***ret_env, GError **error)
{
    json_t *env = json_object_get(payload, "env"), *value;
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
    bool ok = !env || json_is_object(env);
    const char *name;

    if (!env)
        return TRUE;
    json_object_foreach(env, name, value)
    {
        g_autofree char *bytes = payload_bytes(value, "value");

        ok = ok && *name && !strchr(name, '=') && bytes;
        g_ptr_array_add(list, g_strconcat(name, "=", bytes, NULL));
    }
    if (!ok) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'env' must be an object with string "
                            "members; a name must not be empty or contain '='");
        return FALSE;
    }
    g_ptr_array_add(list, NULL);
    *ret_env = (char **)g_ptr_array_steal(list, NULL);
    return TRUE;
}

json_t *env_value_to_json(const char *bytes)
{
    return json_bytes_value("value", bytes);
}

json_t *env_to_json(char *const *env)
{
    json_t *object = json_object();

    for (; env && *env; env++) {
        size_t len = strcspn(*env, "=");
        g_autofree char *name = g_strndup(*env, len);
        const char *value = (*env)[len] ? *env + len + 1 : "";

        json_object_set_new(object, name, env_value_to_json(value));
    }
    return object;
}
