/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_event - see engine_event.h.
 */
#include "agent/client/engine_event.h"

static const char *get_string(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

struct folder_warning *warning_from_json(json_t *payload, const char *label)
{
    struct folder_warning *warning = g_new0(struct folder_warning, 1);

    warning->directory = g_strdup(label);
    warning->code = g_strdup(get_string(payload, "code"));
    warning->message = g_strdup(get_string(payload, "message"));
    warning->relayed = json_incref(payload);
    return warning;
}

void folder_warning_free(struct folder_warning *warning)
{
    if (!warning)
        return;
    g_free(warning->directory);
    g_free(warning->code);
    g_free(warning->message);
    g_clear_pointer(&warning->paths, g_ptr_array_unref);
    json_decref(warning->relayed);
    g_free(warning);
}

bool safeguard_from_json(json_t *payload, struct safeguard_event *ret_event)
{
    *ret_event = (struct safeguard_event){
        .id = get_string(payload, "safeguard_id"),
        .step_id = json_integer_value(json_object_get(payload, "step_id")),
        .denied = g_strcmp0(get_string(payload, "action"), "deny") == 0,
        .confirmed = g_strcmp0(get_string(payload, "reason"), "confirmed") == 0,
    };
    return ret_event->id != NULL;
}

GArray *writers_from_json(json_t *payload, guint max)
{
    GArray *pids = g_array_new(FALSE, FALSE, sizeof(guint32));
    json_t *pid;
    size_t i;

    json_array_foreach(json_object_get(payload, "pids"), i, pid)
    {
        const guint32 number = (guint32)json_integer_value(pid);

        if (pids->len < max)
            g_array_append_val(pids, number);
    }
    return pids;
}

struct engine_status engine_status_from_json(json_t *payload)
{
    json_t *last = json_object_get(payload, "last_step_id");

    return (struct engine_status){
        .has_undo = json_is_true(json_object_get(payload, "undo")),
        .last_step_id = json_integer_value(last),
        .share_dev = (guint64)json_integer_value(
            json_object_get(payload, "share_dev")),
        .share_ino = (guint64)json_integer_value(
            json_object_get(payload, "share_ino")),
        .safeguard_id = get_string(
            json_object_get(payload, "pending_safeguard"), "safeguard_id"),
    };
}
