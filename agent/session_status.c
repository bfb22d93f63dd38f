/* SPDX-License-Identifier: Apache-2.0
 *
 * session_status - see session.h: what a session says of itself.
 */
#include "agent/session_parts.h"

static const char *const state_names[] = {
    [SESSION_STOPPED] = "stopped", [SESSION_STARTING] = "starting",
    [SESSION_RUNNING] = "running", [SESSION_STOPPING] = "stopping",
    [SESSION_BROKEN] = "error",
};

const char *session_state_name(enum session_state state)
{
    return state_names[state];
}

static json_t *describe_directory(const struct session_directory *directory)
{
    json_t *entry = json_pack(
        "{s:s, s:s, s:s, s:s}", "label", directory->label, "access",
        directory->read_only ? "read_only" : "read_write", "tag",
        directory->tag, "guest_path", directory->guest_path);
    const char *undo_dir = directory->undo_dir;

    /* Paths that are not UTF-8 have no place in JSON. */
    json_object_set_new(entry, "path", json_string(directory->path));
    json_object_set_new(entry, "undo_dir",
                        undo_dir ? json_string(undo_dir) : json_null());
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

json_t *session_describe(const struct session *session)
{
    return json_pack("{s:s, s:s, s:I, s:s, s:o, s:b}", "state",
                     session_state_name(session->state), "accel",
                     accel_name(machine_accel(session->machine)), "boot_ms",
                     (json_int_t)machine_boot_ms(session->machine), "backend",
                     "virtiofs", "working_directories",
                     describe_directories(session), "held",
                     machine_is_held(session->machine));
}

json_t *session_status(const struct session *session)
{
    json_t *status;

    if (session->state == SESSION_RUNNING)
        status = session_describe(session);
    else
        status = json_pack("{s:s}", "state",
                           session_state_name(session->state));
    json_object_set_new(status, "running_step",
                        session->exec
                            ? json_integer(exec_step_id(session->exec))
                            : json_null());
    return status;
}
