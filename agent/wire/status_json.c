/* SPDX-License-Identifier: Apache-2.0
 *
 * status_json - see status_json.h.
 */
#include "agent/wire/status_json.h"

#include "agent/wire/directory_json.h"
#include "agent/wire/event_json.h"
#include "agent/wire/port_json.h"
#include "common/json_bytes.h"

static json_t *directories_to_json(const struct session_config *config)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < config->n_directories; i++)
        json_array_append_new(list, directory_to_json(config->directories[i]));
    return list;
}

json_t *session_to_json(const struct session_status *status)
{
    const struct session_config *config = status->config;
    json_t *object = json_pack("{s:s}", "state",
                               session_state_name(status->state));

    if (!config)
        return object;
    json_object_update_new(
        object,
        json_pack("{s:s, s:s, s:I, s:s, s:s, s:o, s:b, s:o, s:o}", "isolation",
                  isolation_name(config->isolation), "accel",
                  status->accel == ACCEL_AUTO ? "none"
                                              : accel_name(status->accel),
                  "boot_ms", (json_int_t)status->boot_ms, "backend",
                  backend_kind_name(config->backend), "vm_mode",
                  config->persistent ? "persistent" : "ephemeral",
                  "working_directories", directories_to_json(config), "held",
                  status->held, "network_policy",
                  network_policy_to_json(&config->network), "disk",
                  directory_path_to_json(status->disk)));
    if (status->ids)
        json_object_set_new(object, "ids",
                            json_integer((json_int_t)status->ids));
    if (config->cwd)
        json_object_set_new(object, "cwd", json_bytes_path(config->cwd));
    if (config->ports->len > 0)
        json_object_set_new(object, "ports", port_list_to_json(config->ports));
    return object;
}

json_t *counters_to_json(const struct session_counters *counters)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "requests",
        (json_int_t)counters->requests, "refused",
        (json_int_t)counters->refused, "events", (json_int_t)counters->events,
        "dropped_events", (json_int_t)counters->dropped_events, "steps",
        (json_int_t)counters->steps, "output_bytes",
        (json_int_t)counters->output_bytes, "guest_messages_ignored",
        (json_int_t)counters->guest_messages_ignored);
}

json_t *status_to_json(const struct session_status *status)
{
    json_t *object = session_to_json(status);

    json_object_set_new(object, "counters",
                        counters_to_json(&status->counters));
    json_object_set_new(object, "running_step",
                        status->running_step
                            ? json_integer(status->running_step)
                            : json_null());
    return object;
}

/* ---- one folder ---------------------------------------------------------- */

/* Drop a path that is not UTF-8: such a path cannot name a folder of the
 * session. */
static void drop_bytes(json_t *object, const char *key)
{
    if (!json_is_string(json_object_get(object, key)))
        json_object_set_new(object, key, json_null());
}

/* Rename a pending decision to the id that its event used. */
static void rename_pending(json_t *object, const char *id)
{
    json_t *pending = json_copy(json_object_get(object, "pending_safeguard"));

    json_object_set_new(pending, "safeguard_id", json_string(id));
    json_object_set_new(object, "pending_safeguard", pending);
}

static json_t *warnings_to_json(const GPtrArray *warnings)
{
    json_t *list = json_array();

    for (guint i = 0; warnings && i < warnings->len; i++)
        json_array_append_new(list,
                              warning_to_json(g_ptr_array_index(warnings, i)));
    return list;
}

json_t *folder_status_to_json(const struct folder_status *status)
{
    json_t *object = status->relayed ? json_copy(status->relayed)
                                     : json_object();

    if (status->safeguard_id)
        rename_pending(object, status->safeguard_id);
    json_object_del(object, "share_dev");
    json_object_del(object, "share_ino");
    json_object_del(object, "mount_dev");
    drop_bytes(object, "share");
    drop_bytes(object, "undo_dir");
    json_object_set_new(object, "directory", json_string(status->directory));
    json_object_set_new(object, "warnings", warnings_to_json(status->warnings));
    return object;
}
