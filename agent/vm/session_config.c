/* SPDX-License-Identifier: Apache-2.0
 *
 * session_config - see session_config.h.
 */
#include "agent/vm/session_config.h"

#include <string.h>

#include "agent/vm/guest_image.h"
#include "common/errors.h"
#include "common/message.h"

enum {
    MEMORY_DEFAULT_MB = 1024,
    CPUS_MAX = 255,
    BOOT_TIMEOUT_DEFAULT_S = 120,
    BOOT_TIMEOUT_MAX_S = 3600,
    ANSWER_TIMEOUT_MAX_S = 86400, /* of a safeguard */
};

static const char *const fields[] = {
    "working_directories",
    "vm_mode",
    "backend",
    "external_modification_policy",
    "allow_suid",
    "allow_devices",
    "host_ids",
    "undo",
    "safeguard",
    "agent_command",
    "network_policy",
    "vm",
    "force_share",
    NULL,
};

static const char *const vm_fields[] = {
    "memory_mb", "cpus",   "accel", "image",
    "kernel",    "initrd", "disk",  "boot_timeout_seconds",
    NULL,
};

/* The numbers come first. */
enum { N_UNDO_NUMBERS = 4 };

static const char *const undo_fields[] = {
    "max_log_size_bytes",
    "max_single_step_size_bytes",
    "max_step_count",
    "min_free_bytes",
    "durability",
    "external_modification_policy",
    NULL,
};

static const char *const safeguard_fields[] = {
    "delete_threshold",
    "overwrite_file_size_threshold",
    "rename_over_existing",
    "timeout_seconds",
    NULL,
};

static gboolean invalid(GError **error, const char *key, const char *problem)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, "the field '%s' %s",
                key, problem);
    return FALSE;
}

static gboolean parse_backend(struct session_config *config, json_t *payload,
                              GError **error)
{
    const char *name = backend_kind_name(BACKEND_VIRTIOFS);

    if (!message_get_optional_string(payload, "backend", &name, error))
        return FALSE;
    return backend_kind_parse(name, &config->backend) ||
           invalid(error, "backend", "must be virtiofs or 9p");
}

static gboolean parse_path(json_t *vm, const char *key, char **ret_path,
                           GError **error)
{
    const char *path = NULL;

    if (!message_get_optional_string(vm, key, &path, error))
        return FALSE;
    if (path && !g_path_is_absolute(path))
        return invalid(error, key, "must be an absolute path");
    *ret_path = g_strdup(path);
    return TRUE;
}

static gboolean parse_size(json_t *vm, const char *key, unsigned min,
                           unsigned max, unsigned *value, GError **error)
{
    gint64 given = *value;

    if (!message_get_optional_int(vm, key, min, max, &given, error))
        return FALSE;
    *value = (unsigned)given;
    return TRUE;
}

static gboolean parse_vm(struct session_config *config, json_t *payload,
                         GError **error)
{
    json_t *vm = json_object_get(payload, "vm");
    const char *accel = "auto", *image = GUEST_IMAGE_DEFAULT;

    if (vm && !json_is_object(vm))
        return invalid(error, "vm", "must be an object");
    if (!message_check_known(vm, vm_fields, error) ||
        !message_get_optional_string(vm, "accel", &accel, error) ||
        !message_get_optional_string(vm, "image", &image, error) ||
        !parse_size(vm, "memory_mb", SESSION_MEMORY_MIN_MB,
                    SESSION_MEMORY_MAX_MB, &config->memory_mb, error) ||
        !parse_size(vm, "cpus", 1, CPUS_MAX, &config->cpus, error) ||
        !parse_size(vm, "boot_timeout_seconds", 1, BOOT_TIMEOUT_MAX_S,
                    &config->boot_timeout_s, error) ||
        !parse_path(vm, "kernel", &config->kernel, error) ||
        !parse_path(vm, "initrd", &config->initrd, error) ||
        !parse_path(vm, "disk", &config->disk, error))
        return FALSE;
    config->image = g_strdup(image);
    if (!accel_parse(accel, &config->accel))
        return invalid(error, "accel", "must be auto, kvm or tcg");
    return TRUE;
}

static gboolean parse_mode(struct session_config *config, json_t *payload,
                           GError **error)
{
    const char *mode = "ephemeral";

    if (!message_get_optional_string(payload, "vm_mode", &mode, error))
        return FALSE;
    config->persistent = strcmp(mode, "persistent") == 0;
    if (!config->persistent && strcmp(mode, "ephemeral") != 0)
        return invalid(error, "vm_mode", "must be ephemeral or persistent");
    return TRUE;
}

static gboolean parse_outside_policy(json_t *object,
                                     enum ic_outside_policy *policy,
                                     GError **error)
{
    const char *name = NULL;

    if (!message_get_optional_string(object, "external_modification_policy",
                                     &name, error))
        return FALSE;
    return !name || (ic_outside_policy_parse(name, policy, error) &&
                     ic_outside_policy_check(*policy, error));
}

static gboolean check_durability(json_t *limits, GError **error)
{
    const char *name = "process";

    if (!message_get_optional_string(limits, "durability", &name, error))
        return FALSE;
    return strcmp(name, "process") == 0 || strcmp(name, "power") == 0 ||
           invalid(error, "durability", "must be process or power");
}

/* The engine checks all that as well; but a machine has been started then. */
gboolean session_config_check_limits(json_t *limits, GError **error)
{
    enum ic_outside_policy policy;

    if (!message_check_known(limits, undo_fields, error))
        return FALSE;
    for (size_t i = 0; i < N_UNDO_NUMBERS; i++) {
        gint64 value;

        if (!message_get_optional_int(limits, undo_fields[i], -1, G_MAXINT64,
                                      &value, error))
            return FALSE;
    }
    return check_durability(limits, error) &&
           parse_outside_policy(limits, &policy, error);
}

/* Null switches a rule off. */
static gboolean check_rule(json_t *rules, const char *key, gint64 max,
                           GError **error)
{
    gint64 value;

    return json_is_null(json_object_get(rules, key)) ||
           message_get_optional_int(rules, key, 0, max, &value, error);
}

gboolean session_config_check_rules(json_t *rules, GError **error)
{
    static const char rename[] = "rename_over_existing";
    gboolean value;

    return message_check_known(rules, safeguard_fields, error) &&
           check_rule(rules, "delete_threshold", G_MAXINT64 / 2, error) &&
           check_rule(rules, "overwrite_file_size_threshold", G_MAXINT64 / 2,
                      error) &&
           check_rule(rules, "timeout_seconds", ANSWER_TIMEOUT_MAX_S, error) &&
           (json_is_null(json_object_get(rules, rename)) ||
            message_get_optional_bool(rules, rename, &value, error));
}

/* An object for the undo engine. */
static gboolean parse_object(json_t *payload, const char *key,
                             gboolean (*check)(json_t *object, GError **error),
                             json_t **ret_object, GError **error)
{
    json_t *object = json_object_get(payload, key);

    if (object && !json_is_object(object))
        return invalid(error, key, "must be an object");
    if (!check(object, error))
        return FALSE;
    *ret_object = json_incref(object);
    return TRUE;
}

static gboolean parse_agent(struct session_config *config, json_t *payload,
                            GError **error)
{
    const char *command = NULL;

    if (!message_get_optional_string(payload, "agent_command", &command, error))
        return FALSE;
    if (command && !*command)
        return invalid(error, "agent_command", "must not be empty");
    config->agent_command = g_strdup(command);
    return TRUE;
}

static gboolean parse_force(struct session_config *config, json_t *payload,
                            GError **error)
{
    gboolean force = FALSE;

    if (!message_get_optional_bool(payload, "force_share", &force, error))
        return FALSE;
    config->force_share = force;
    return TRUE;
}

struct session_config *session_config_read(json_t *payload, GError **error)
{
    struct session_config *config = g_new0(struct session_config, 1);

    config->memory_mb = MEMORY_DEFAULT_MB;
    config->boot_timeout_s = BOOT_TIMEOUT_DEFAULT_S;
    if (message_check_known(payload, fields, error) &&
        parse_mode(config, payload, error) &&
        parse_backend(config, payload, error) &&
        network_policy_parse(json_object_get(payload, "network_policy"),
                             &config->network, error) &&
        parse_outside_policy(payload, &config->outside_policy, error) &&
        message_get_optional_bool(payload, "allow_suid", &config->allow_suid,
                                  error) &&
        message_get_optional_bool(payload, "allow_devices",
                                  &config->allow_devices, error) &&
        message_get_optional_bool(payload, "host_ids", &config->host_ids,
                                  error) &&
        parse_vm(config, payload, error) &&
        parse_agent(config, payload, error) &&
        parse_force(config, payload, error) &&
        parse_object(payload, "undo", session_config_check_limits,
                     &config->limits, error) &&
        parse_object(payload, "safeguard", session_config_check_rules,
                     &config->rules, error) &&
        session_directory_parse_all(payload, config->directories,
                                    &config->n_directories, error))
        return config;
    session_config_free(config);
    return NULL;
}

void session_config_free(struct session_config *config)
{
    if (!config)
        return;
    for (unsigned i = 0; i < config->n_directories; i++)
        session_directory_free(config->directories[i]);
    g_free(config->kernel);
    g_free(config->initrd);
    g_free(config->disk);
    g_free(config->image);
    g_free(config->kernel_append);
    g_free(config->agent_command);
    json_decref(config->limits);
    json_decref(config->rules);
    g_free(config);
}
