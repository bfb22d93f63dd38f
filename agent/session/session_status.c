/* SPDX-License-Identifier: Apache-2.0
 *
 * session_status - see session.h: what a session says of itself.
 */
#include "agent/session/session_status.h"

#include "agent/session/exec.h"
#include "agent/session/session.h"
#include "agent/session/session_core.h"
#include "common/errors.h"

/* A path that is not UTF-8 has no place in JSON. */
static json_t *path_value(const char *path)
{
    json_t *value = path ? json_string(path) : NULL;

    return value ? value : json_null();
}

static json_t *describe_directory(const struct session_directory *directory)
{
    json_t *entry = json_pack(
        "{s:s, s:s, s:s, s:s}", "label", directory->label, "access",
        directory->read_only ? "read_only" : "read_write", "tag",
        directory->tag, "guest_path", directory->guest_path);

    json_object_set_new(entry, "path", path_value(directory->path));
    json_object_set_new(entry, "undo_dir", path_value(directory->undo_dir));
    return entry;
}

static json_t *describe_directories(const struct session *session)
{
    const struct session_config *config = session->config;
    json_t *list = json_array();

    for (unsigned i = 0; i < config->n_directories; i++)
        json_array_append_new(list, describe_directory(config->directories[i]));
    return list;
}

/* QEMU may not have said so yet. */
static bool is_held(const struct session *session)
{
    return session->questions->len > 0 || machine_is_held(session->machine);
}

json_t *session_describe(const struct session *session)
{
    const struct machine *machine = session->machine;
    json_t *status = json_pack(
        "{s:s, s:s, s:I, s:s, s:s, s:o, s:b}", "state",
        session_state_name(session->state), "accel",
        accel_name(machine_accel(machine)), "boot_ms",
        (json_int_t)machine_boot_ms(machine), "backend",
        backend_kind_name(session->config->backend), "vm_mode",
        session->config->persistent ? "persistent" : "ephemeral",
        "working_directories", describe_directories(session), "held",
        is_held(session));

    json_object_set_new(status, "network_policy",
                        network_policy_to_json(&session->config->network));
    json_object_set_new(status, "disk", path_value(machine_disk(machine)));
    return status;
}

struct session_counters *session_counters(struct session *session)
{
    return &session->counters;
}

json_t *session_counters_to_json(const struct session *session)
{
    const struct session_counters *counters = &session->counters;
    guint64 ignored = counters->guest_messages_ignored;

    if (session->state == SESSION_RUNNING)
        ignored += guest_channel_complaints(machine_guest(session->machine));
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "requests",
                     (json_int_t)counters->requests, "refused",
                     (json_int_t)counters->refused, "events",
                     (json_int_t)counters->events, "dropped_events",
                     (json_int_t)counters->dropped_events, "steps",
                     (json_int_t)counters->steps, "output_bytes",
                     (json_int_t)counters->output_bytes,
                     "guest_messages_ignored", (json_int_t)ignored);
}

json_t *session_status(const struct session *session)
{
    json_t *status;

    if (session->state == SESSION_RUNNING)
        status = session_describe(session);
    else
        status = json_pack("{s:s}", "state",
                           session_state_name(session->state));
    json_object_set_new(status, "counters", session_counters_to_json(session));
    json_object_set_new(status, "running_step",
                        session->exec
                            ? json_integer(exec_step_id(session->exec))
                            : json_null());
    return status;
}
