/* SPDX-License-Identifier: Apache-2.0
 *
 * control_restore - see control_restore.h.
 */
#include "interceptor/control/control_restore.h"

#include <string.h>

#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/message.h"
#include "interceptor/control/control_outside.h"
#include "interceptor/paths/restore_paths.h"

/* Return a new array of new strings that ends with NULL, or NULL and error. */
static GPtrArray *get_paths(json_t *payload, GError **error)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    json_t *list = json_object_get(payload, "paths"), *value;
    size_t i;

    json_array_foreach(list, i, value)
    {
        char *path = json_bytes_get_path(value);

        if (!path)
            break;
        g_ptr_array_add(paths, path);
    }
    if (paths->len == 0 || paths->len < json_array_size(list)) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'paths' must be an array of one path or "
                            "more, each text or base64, without NUL");
        return NULL;
    }
    g_ptr_array_add(paths, NULL);
    return g_steal_pointer(&paths);
}

json_t *control_restore(struct ic *ic, json_t *payload, json_t **ret_data,
                        GError **error)
{
    g_autoptr(GPtrArray) paths = get_paths(payload, error);
    struct rollback_extent extent = { 0 };
    gboolean force = FALSE, dry = FALSE, ok;
    struct ic_restore request = { 0 };
    struct ic_rollback_result *result;
    gint64 id = 0;

    if (!paths || !control_outside_get_extent(payload, &extent, error) ||
        !message_get_optional_bool(payload, "force", &force, error) ||
        !message_get_optional_bool(payload, "dry_run", &dry, error) ||
        !message_get_optional_int(payload, "step_id", 1, G_MAXINT64, &id,
                                  error))
        return NULL;
    request.paths = (const char *const *)paths->pdata;
    request.n = paths->len - 1;
    request.force = force;
    request.dry = dry;
    request.new_id = id;
    ok = restore_paths_of(ic, &extent, &request, &result, error);
    return control_outside_answer(result, ok, ret_data);
}
