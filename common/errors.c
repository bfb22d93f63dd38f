/* SPDX-License-Identifier: Apache-2.0
 *
 * errors - see errors.h.
 */
#include "common/errors.h"

static const struct {
    enum error_code code;
    const char *name;
} names[] = {
    { ERROR_MALFORMED_JSON, "malformed_json" },
    { ERROR_UNSUPPORTED_PROTOCOL_VERSION, "unsupported_protocol_version" },
    { ERROR_UNKNOWN_OPERATION, "unknown_operation" },
    { ERROR_MISSING_FIELD, "missing_field" },
    { ERROR_INVALID_FIELD, "invalid_field" },
    { ERROR_MESSAGE_TOO_LARGE, "message_too_large" },
    { ERROR_NO_SESSION, "no_session" },
    { ERROR_SESSION_ACTIVE, "session_active" },
    { ERROR_INVALID_DIRECTORY, "invalid_directory" },
    { ERROR_VM_LAUNCH_FAILED, "vm_launch_failed" },
    { ERROR_VM_BOOT_TIMEOUT, "vm_boot_timeout" },
    { ERROR_CONTROL_DISCONNECTED, "control_disconnected" },
    { ERROR_TOO_MANY_DIRECTORIES, "too_many_directories" },
    { ERROR_BACKEND_FAILED, "backend_failed" },
    { ERROR_NO_BUBBLEWRAP, "no_bubblewrap" },
    { ERROR_NO_USER_NAMESPACES, "no_user_namespaces" },
    { ERROR_NO_FUSE, "no_fuse" },
    { ERROR_NO_CGROUP, "no_cgroup" },
    { ERROR_NOTHING_TO_UNDO, "nothing_to_undo" },
    { ERROR_UNDO_BARRIER, "undo_barrier" },
    { ERROR_STEP_UNPROTECTED, "step_unprotected" },
    { ERROR_UNDO_VERSION_MISMATCH, "undo_version_mismatch" },
    { ERROR_PREIMAGE_MISSING, "preimage_missing" },
    { ERROR_PREIMAGE_CORRUPT, "preimage_corrupt" },
    { ERROR_STEP_ACTIVE, "step_active" },
    { ERROR_NOTHING_TO_REDO, "nothing_to_redo" },
    { ERROR_PATH_OUTSIDE_ROOT, "path_outside_root" },
    { ERROR_NOT_FOUND, "not_found" },
    { ERROR_READ_ONLY_DIRECTORY, "read_only_directory" },
    { ERROR_TOO_LARGE, "too_large" },
    { ERROR_IO_ERROR, "io_error" },
    { ERROR_UNKNOWN_SAFEGUARD, "unknown_safeguard" },
    { ERROR_DENIED, "denied" },
    { ERROR_BUSY, "busy" },
    { ERROR_CANCELLED, "cancelled" },
    { ERROR_TIMEOUT, "timeout" },
    { ERROR_PORT_TAKEN, "port_taken" },
    { ERROR_PORT_PUBLISHED, "port_published" },
    { ERROR_PORT_PRIVILEGED, "port_privileged" },
    { ERROR_NO_NETWORK, "no_network" },
    { ERROR_INTERNAL, "internal" },
};

/* Not G_DEFINE_QUARK(), whose variable is a data race. */
GQuark stepback_error_quark(void)
{
    static _Atomic GQuark quark;

    if (quark == 0)
        quark = g_quark_from_static_string("stepback-error-quark");
    return quark;
}

const char *error_code_name(int code)
{
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if ((int)names[i].code == code)
            return names[i].name;
    }
    return "internal";
}

enum error_code error_code_from_name(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (g_strcmp0(names[i].name, name) == 0)
            return names[i].code;
    }
    return ERROR_INTERNAL;
}

int error_code_of(const GError *error)
{
    return error->domain == STEPBACK_ERROR ? error->code : ERROR_INTERNAL;
}
