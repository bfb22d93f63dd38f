/* SPDX-License-Identifier: Apache-2.0
 *
 * control_writers - see control_writers.h.
 */
#include "interceptor/control/control_writers.h"

#include "common/errors.h"

json_t *control_writers_follow(struct ic *ic, json_t *payload, GError **error)
{
    ic_follow_writers(ic);
    return json_object();
}

json_t *control_writers_name(struct ic *ic, json_t *payload, GError **error)
{
    json_t *pairs = json_object_get(payload, "writers"), *pair;
    g_autoptr(GArray)
        list = g_array_new(FALSE, FALSE, sizeof(struct ic_writer));
    size_t i;

    json_array_foreach(pairs, i, pair)
    {
        json_int_t pid = json_integer_value(json_array_get(pair, 0));
        const struct ic_writer writer = {
            .pid = (uint32_t)pid,
            .execution = json_integer_value(json_array_get(pair, 1)),
        };

        if (pid <= 0 || pid > UINT32_MAX ||
            !json_is_integer(json_array_get(pair, 1)))
            break;
        g_array_append_val(list, writer);
    }
    if (!json_is_array(pairs) || i < json_array_size(pairs)) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'writers' must be an array of pairs: "
                            "the number of a process, and of an execution");
        return NULL;
    }
    ic_name_writers(ic, (const struct ic_writer *)list->data, list->len);
    return json_object();
}
