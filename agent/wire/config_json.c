/* SPDX-License-Identifier: Apache-2.0
 *
 * config_json - see config_json.h.
 */
#include "agent/wire/config_json.h"

#include <string.h>

#include "agent/base/certificates.h"
#include "agent/base/network_entry.h"
#include "agent/client/settings_json.h"
#include "agent/machine/session_config_check.h"
#include "agent/machine/upstream_proxy.h"
#include "agent/wire/bus_json.h"
#include "agent/wire/env_json.h"
#include "agent/wire/git_json.h"
#include "agent/wire/payload.h"
#include "agent/wire/port_json.h"
#include "agent/wire/secret_json.h"
#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/message.h"

enum { BOOT_TIMEOUT_MAX_S = 3600 };

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
    "env",
    "cwd",
    "user",
    "git_identity",
    "ca_certificates",
    "secrets",
    "agent_command",
    "guest_undo",
    "network_policy",
    "upstream_proxy",
    "ports",
    "copy_folders",
    "isolation",
    "rootfs",
    "session_bus",
    "vm",
    "force_share",
    NULL,
};

static const char *const vm_fields[] = {
    "memory_mb", "cpus",   "accel", "image",
    "kernel",    "initrd", "disk",  "boot_timeout_seconds",
    "template",  "pool",   NULL,
};

static const char *const folder_fields[] = { "path", "label", "access",
                                             "undo_dir", NULL };

/* Parse a member with two allowed words; the first is the default. */
static gboolean parse_choice(json_t *payload, const char *key,
                             const char *first, const char *second,
                             bool *ret_second, GError **error)
{
    const char *word = first;
    g_autofree char *problem = NULL;

    if (!message_get_optional_string(payload, key, &word, error))
        return FALSE;
    *ret_second = strcmp(word, second) == 0;
    if (*ret_second || strcmp(word, first) == 0)
        return TRUE;
    problem = g_strdup_printf("must be %s or %s", first, second);
    return payload_invalid(key, problem, error);
}

static gboolean parse_outside_policy(struct session_config *config,
                                     json_t *payload, GError **error)
{
    int policy = (int)config->outside_policy;

    if (!outside_policy_from_json(payload, &policy, error))
        return FALSE;
    config->outside_policy = (enum ic_outside_policy)policy;
    return TRUE;
}

/* ---- the machine --------------------------------------------------------- */

static gboolean parse_path(json_t *vm, const char *key, char **ret_path,
                           GError **error)
{
    if (!payload_get_bytes(vm, key, "path", ret_path, error))
        return FALSE;
    return !*ret_path || g_path_is_absolute(*ret_path) ||
           payload_invalid(key, "must be an absolute path", error);
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

static gboolean parse_copy(json_t *payload, const char *key, char **string,
                           GError **error)
{
    const char *given = *string;

    if (!message_get_optional_string(payload, key, &given, error))
        return FALSE;
    if (given != *string) {
        g_free(*string);
        *string = g_strdup(given);
    }
    return TRUE;
}

static gboolean parse_vm(struct session_config *config, json_t *payload,
                         GError **error)
{
    json_t *vm = json_object_get(payload, "vm");
    const char *accel = accel_name(config->accel);
    gboolean template = !config->no_template, pool = !config->no_pool;

    if (vm && !json_is_object(vm))
        return payload_invalid("vm", "must be an object", error);
    if (!message_check_known(vm, vm_fields, error) ||
        !message_get_optional_string(vm, "accel", &accel, error) ||
        !parse_copy(vm, "image", &config->image, error) ||
        !parse_size(vm, "memory_mb", SESSION_MEMORY_MIN_MB,
                    SESSION_MEMORY_MAX_MB, &config->memory_mb, error) ||
        !parse_size(vm, "cpus", 1, SESSION_CPUS_MAX, &config->cpus, error) ||
        !parse_size(vm, "boot_timeout_seconds", 1, BOOT_TIMEOUT_MAX_S,
                    &config->boot_timeout_s, error) ||
        !parse_path(vm, "kernel", &config->kernel, error) ||
        !parse_path(vm, "initrd", &config->initrd, error) ||
        !parse_path(vm, "disk", &config->disk, error) ||
        !message_get_optional_bool(vm, "template", &template, error) ||
        !message_get_optional_bool(vm, "pool", &pool, error))
        return FALSE;
    config->no_template = !template;
    config->no_pool = !pool;
    return accel_parse(accel, &config->accel) ||
           payload_invalid("accel", "must be auto, kvm or tcg", error);
}

/* ---- undo ---------------------------------------------------------------- */

static gboolean check_object(json_t *object, const char *key, GError **error)
{
    return json_is_object(object) ||
           payload_invalid(key, "must be an object", error);
}

static gboolean parse_undo(struct session_config *config, json_t *payload,
                           GError **error)
{
    json_t *limits = json_object_get(payload, "undo");
    json_t *rules = json_object_get(payload, "safeguard");

    if (limits) {
        config->limits = g_new(struct undo_limits, 1);
        if (!check_object(limits, "undo", error) ||
            !limits_from_json(limits, config->limits, error))
            return FALSE;
    }
    if (rules) {
        config->rules = g_new(struct safeguard_rules, 1);
        if (!check_object(rules, "safeguard", error) ||
            !rules_from_json(rules, config->rules, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean parse_agent(struct session_config *config, json_t *payload,
                            GError **error)
{
    const char *policy = guest_undo_name(config->guest_undo);

    if (!parse_copy(payload, "agent_command", &config->agent_command, error) ||
        !message_get_optional_string(payload, "guest_undo", &policy, error))
        return FALSE;
    if (!guest_undo_parse(policy, &config->guest_undo))
        return payload_invalid("guest_undo", "must be none, own or all", error);
    return !config->agent_command || *config->agent_command ||
           payload_invalid("agent_command", "must not be empty", error);
}

/* ---- the guest's environment --------------------------------------------- */

static gboolean parse_certificates(struct session_config *config,
                                   json_t *payload, GError **error)
{
    g_autoptr(GString) pem = g_string_new(NULL);
    const char *text = NULL;

    if (!message_get_optional_string(payload, "ca_certificates", &text, error))
        return FALSE;
    if (!text)
        return TRUE;
    if (!certificates_add(pem, text, strlen(text), error)) {
        g_prefix_error(error, "the field 'ca_certificates': ");
        return FALSE;
    }
    config->certificates = g_string_free(g_steal_pointer(&pem), FALSE);
    return TRUE;
}

static gboolean parse_upstream(struct session_config *config, json_t *payload,
                               GError **error)
{
    const char *problem;

    if (!parse_copy(payload, "upstream_proxy", &config->upstream_proxy, error))
        return FALSE;
    problem = upstream_proxy_problem(config->upstream_proxy);
    return !problem || payload_invalid("upstream_proxy", problem, error);
}

static gboolean parse_environment(struct session_config *config,
                                  json_t *payload, GError **error)
{
    return env_from_json(payload, &config->env, error) &&
           payload_get_bytes(payload, "cwd", "path", &config->cwd, error) &&
           parse_copy(payload, "user", &config->user, error) &&
           git_from_json(payload, &config->git, error) &&
           secrets_from_json(json_object_get(payload, "secrets"),
                             config->secrets, error) &&
           parse_certificates(config, payload, error);
}

/* ---- the folders --------------------------------------------------------- */

gboolean share_from_json(json_t *entry, struct session_share *ret_share,
                         GError **error)
{
    char *path = NULL, *undo_dir = NULL;
    gboolean ok = message_check_known(entry, folder_fields, error) &&
                  payload_check_has(entry, "path", error) &&
                  payload_get_bytes(entry, "path", "path", &path, error) &&
                  message_get_optional_string(entry, "label", &ret_share->label,
                                              error) &&
                  parse_choice(entry, "access", "read_write", "read_only",
                               &ret_share->read_only, error) &&
                  payload_get_bytes(entry, "undo_dir", "path", &undo_dir,
                                    error);

    ret_share->path = path;
    ret_share->undo_dir = undo_dir;
    return ok;
}

void share_clear(struct session_share *share)
{
    g_free((char *)share->path);
    g_free((char *)share->undo_dir);
}

static gboolean parse_folder(struct session_config *config, json_t *entry,
                             GError **error)
{
    struct session_share share = { 0 };
    gboolean ok;

    if (!json_is_object(entry))
        return payload_invalid("working_directories",
                               "must be a list of objects with a 'path'",
                               error);
    ok = share_from_json(entry, &share, error) &&
         session_config_share(config, &share, error);
    share_clear(&share);
    return ok;
}

static gboolean parse_folders(struct session_config *config, json_t *payload,
                              GError **error)
{
    json_t *list = json_object_get(payload, "working_directories"), *entry;
    size_t i;

    if (!payload_check_has(payload, "working_directories", error))
        return FALSE;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return payload_invalid("working_directories",
                               "must be a list with at least one folder, such "
                               "as [{\"path\":\"/a/b\"}]",
                               error);
    json_array_foreach(list, i, entry)
    {
        if (!parse_folder(config, entry, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean parse_copy_folders(struct session_config *config,
                                   json_t *payload, GError **error)
{
    json_t *list = json_object_get(payload, "copy_folders"), *entry;
    size_t i;

    if (list && !json_is_array(list))
        return payload_invalid("copy_folders", "must be a list of paths",
                               error);
    json_array_foreach(list, i, entry)
    {
        g_autofree char *path = payload_bytes(entry, "path");

        if (!path)
            return payload_invalid("copy_folders", "must be a list of paths",
                                   error);
        if (!session_config_allow_copy(config, path, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- the configuration --------------------------------------------------- */

static gboolean parse(struct session_config *config, json_t *payload,
                      GError **error)
{
    bool is_9p, is_local;

    if (!message_check_known(payload, fields, error) ||
        !parse_choice(payload, "vm_mode", "ephemeral", "persistent",
                      &config->persistent, error) ||
        !parse_choice(payload, "backend", backend_kind_name(BACKEND_VIRTIOFS),
                      backend_kind_name(BACKEND_9P), &is_9p, error) ||
        !parse_choice(payload, "isolation", isolation_name(ISOLATION_VM),
                      isolation_name(ISOLATION_LOCAL), &is_local, error))
        return FALSE;
    config->isolation = is_local ? ISOLATION_LOCAL : ISOLATION_VM;
    config->backend = is_9p ? BACKEND_9P : BACKEND_VIRTIOFS;
    return parse_copy(payload, "rootfs", &config->rootfs, error) &&
           bus_from_json(payload, config, error) &&
           network_policy_parse_with(network_entry_add,
                                     json_object_get(payload, "network_policy"),
                                     &config->network, error) &&
           parse_upstream(config, payload, error) &&
           ports_from_json(json_object_get(payload, "ports"), config->ports,
                           error) &&
           parse_outside_policy(config, payload, error) &&
           message_get_optional_bool(payload, "allow_suid", &config->allow_suid,
                                     error) &&
           message_get_optional_bool(payload, "allow_devices",
                                     &config->allow_devices, error) &&
           message_get_optional_bool(payload, "host_ids", &config->host_ids,
                                     error) &&
           parse_vm(config, payload, error) &&
           parse_agent(config, payload, error) &&
           parse_environment(config, payload, error) &&
           message_get_optional_bool(payload, "force_share",
                                     &config->force_share, error) &&
           parse_undo(config, payload, error) &&
           parse_folders(config, payload, error) &&
           parse_copy_folders(config, payload, error) &&
           session_config_check(config, error);
}

struct session_config *config_from_json(json_t *payload, GError **error)
{
    struct session_config *config = session_config_new();

    if (parse(config, payload, error))
        return config;
    session_config_free(config);
    return NULL;
}

/* ---- the inverse --------------------------------------------------------- */

static void set_path(json_t *object, const char *key, const char *path)
{
    if (path)
        json_object_set_new(object, key, json_bytes_path(path));
}

static json_t *vm_to_json(const struct session_config *config)
{
    json_t *vm = json_pack("{s:s, s:s, s:i, s:b, s:b}", "accel",
                           accel_name(config->accel), "image", config->image,
                           "boot_timeout_seconds", (int)config->boot_timeout_s,
                           "template", !config->no_template, "pool",
                           !config->no_pool);

    if (config->memory_mb > 0)
        json_object_set_new(vm, "memory_mb", json_integer(config->memory_mb));
    if (config->cpus > 0)
        json_object_set_new(vm, "cpus", json_integer(config->cpus));
    set_path(vm, "kernel", config->kernel);
    set_path(vm, "initrd", config->initrd);
    set_path(vm, "disk", config->disk);
    return vm;
}

static json_t *folders_to_json(const struct session_config *config)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < config->n_directories; i++) {
        const struct session_directory *directory = config->directories[i];
        json_t *entry = json_pack(
            "{s:s*, s:s}", "label", directory->label, "access",
            directory->read_only ? "read_only" : "read_write");

        set_path(entry, "path", directory->path);
        set_path(entry, "undo_dir", directory->undo_dir);
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *copy_folders_to_json(const GPtrArray *folders)
{
    json_t *list = json_array();

    for (guint i = 0; i < folders->len; i++)
        json_array_append_new(list,
                              json_bytes_path(g_ptr_array_index(folders, i)));
    return list;
}

static void add_environment(json_t *payload,
                            const struct session_config *config)
{
    if (config->env)
        json_object_set_new(payload, "env", env_to_json(config->env));
    set_path(payload, "cwd", config->cwd);
    if (config->user)
        json_object_set_new(payload, "user", json_string(config->user));
    git_add_json(payload, &config->git);
    if (config->secrets->len > 0)
        json_object_set_new(payload, "secrets",
                            secrets_to_json(config->secrets));
    if (config->upstream_proxy)
        json_object_set_new(payload, "upstream_proxy",
                            json_string(config->upstream_proxy));
    if (config->certificates)
        json_object_set_new(payload, "ca_certificates",
                            json_string(config->certificates));
}

json_t *config_to_json(const struct session_config *config)
{
    json_t *payload = json_pack(
        "{s:s, s:s*, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:o, s:o, s:o, s:s, "
        "s:s*}",
        "isolation", isolation_name(config->isolation), "rootfs",
        config->rootfs, "vm_mode",
        config->persistent ? "persistent" : "ephemeral", "backend",
        backend_kind_name(config->backend), "external_modification_policy",
        config->outside_policy == IC_OUTSIDE_WARN ? "warn" : "barrier",
        "allow_suid", config->allow_suid, "allow_devices",
        config->allow_devices, "host_ids", config->host_ids, "force_share",
        config->force_share, "vm", vm_to_json(config), "network_policy",
        network_policy_to_json(&config->network), "working_directories",
        folders_to_json(config), "guest_undo",
        guest_undo_name(config->guest_undo), "agent_command",
        config->agent_command);

    add_environment(payload, config);
    bus_add_json(payload, config);
    if (config->ports->len > 0)
        json_object_set_new(payload, "ports", port_list_to_json(config->ports));
    if (config->copy_folders->len > 0)
        json_object_set_new(payload, "copy_folders",
                            copy_folders_to_json(config->copy_folders));
    if (config->limits)
        json_object_set_new(payload, "undo", limits_to_json(config->limits));
    if (config->rules)
        json_object_set_new(payload, "safeguard", rules_to_json(config->rules));
    return payload;
}
