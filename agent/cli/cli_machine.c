/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_machine - see cli_machine.h.
 */
#include "agent/cli/cli_machine.h"

#include <string.h>

#include "agent/cli/cli_options.h"
#include "agent/cli/cli_ports.h"
#include "agent/vm/accel.h"
#include "agent/vm/backend_kind.h"
#include "agent/vm/guest_image.h"
#include "agent/vm/session_config_check.h"
#include "common/json_bytes.h"
#include "common/real_path.h"

void cli_machine_clear(struct cli_machine *machine)
{
    cli_place_clear(&machine->place);
    g_free(machine->image);
    g_free(machine->accel);
    g_free(machine->backend);
    g_free(machine->kernel);
    g_free(machine->initrd);
    g_free(machine->network);
    g_free(machine->guest_undo);
    g_strfreev(machine->more_dirs);
    g_strfreev(machine->publish);
    g_strfreev(machine->copy_folders);
}

/* ---- the network --------------------------------------------------------- */

/* Parse "open", "none", or a list of networks, open and dns. */
static gboolean parse_network(const struct cli_machine *machine,
                              struct network_policy *policy, GError **error)
{
    const char *text = machine->network ? machine->network : "open";
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    gboolean ok = TRUE;

    memset(policy, 0, sizeof(*policy));
    policy->kind = NETWORK_DISABLED;
    if (machine->no_network || strcmp(text, "none") == 0)
        return TRUE;
    policy->kind = strcmp(text, "open") == 0 ? NETWORK_OPEN : NETWORK_ALLOW;
    policy->dns = policy->kind == NETWORK_OPEN;
    for (char **word = words; ok && policy->kind == NETWORK_ALLOW && *word;
         word++) {
        bool open = strcmp(*word, "open") == 0;

        policy->dns |= open || strcmp(*word, "dns") == 0;
        if (open)
            ok = network_policy_add(policy, "0.0.0.0/0", error) &&
                 network_policy_add(policy, "::/0", error);
        else if (strcmp(*word, "dns") != 0)
            ok = network_policy_add(policy, *word, error);
    }
    return ok;
}

/* Return whether a refused list contains "none". */
static bool has_none(const char *list)
{
    g_auto(GStrv) words = g_strsplit(list, ",", -1);

    return g_strv_contains((const char *const *)words, "none");
}

static bool check_network(const struct cli_machine *machine,
                          const char *command)
{
    g_autoptr(GError) error = NULL;
    g_autofree struct network_policy *policy = g_new(struct network_policy, 1);
    bool ok = parse_network(machine, policy, &error);

    if (ok && machine->no_network && machine->network)
        cli_options_wrong("%s: --no-network and --network exclude each other",
                          command);
    else if (!ok && has_none(machine->network))
        cli_options_wrong(
            "%s: --network: 'none' cannot be combined with other entries; a "
            "list without it already allows nothing else",
            command);
    else if (!ok)
        cli_options_wrong("%s: --network: %s", command, error->message);
    return ok && !(machine->no_network && machine->network);
}

static bool check_ports(const struct cli_machine *machine, const char *command)
{
    g_autoptr(GArray)
        ports = g_array_new(FALSE, FALSE, sizeof(struct port_spec));
    g_autoptr(GError) error = NULL;

    if (!cli_ports_parse(machine->publish, ports, &error))
        cli_options_wrong("%s: --publish: %s", command, error->message);
    return !error;
}

/* ---- paths --------------------------------------------------------------- */

/* Return an option's path as an absolute one, NULL for NULL. */
static char *absolute(const char *path)
{
    return path ? g_canonicalize_filename(path, NULL) : NULL;
}

static const char *folder_of(const struct cli_machine *machine)
{
    return machine->place.dir ? machine->place.dir : ".";
}

/* ---- the configuration --------------------------------------------------- */

bool cli_machine_check(const struct cli_machine *machine, const char *command)
{
    g_autofree char *image = NULL;
    enum backend_kind backend;
    enum guest_undo guest_undo;
    enum accel accel;

    if (machine->memory && (machine->memory < SESSION_MEMORY_MIN_MB ||
                            machine->memory > SESSION_MEMORY_MAX_MB))
        cli_options_wrong(
            "%s: --memory must be a number of megabytes from %d to %d", command,
            SESSION_MEMORY_MIN_MB, SESSION_MEMORY_MAX_MB);
    else if (machine->accel && !accel_parse(machine->accel, &accel))
        cli_options_wrong("%s: --accel must be auto, kvm or tcg, not '%s'",
                          command, machine->accel);
    else if (machine->backend &&
             !backend_kind_parse(machine->backend, &backend))
        cli_options_wrong("%s: --backend must be virtiofs or 9p, not '%s'",
                          command, machine->backend);
    else if (machine->guest_undo &&
             !guest_undo_parse(machine->guest_undo, &guest_undo))
        cli_options_wrong("%s: --guest-undo must be own, all or none, not '%s'",
                          command, machine->guest_undo);
    else if (machine->image && !(image = guest_image_dir(machine->image, NULL)))
        cli_options_wrong("%s: --image must be the name of an image, such as "
                          "minimal, not '%s'",
                          command, machine->image);
    else
        return check_network(machine, command) && check_ports(machine, command);
    return false;
}

static gboolean share_more(struct session_config *config,
                           const struct cli_machine *machine, GError **error)
{
    for (char **dir = machine->more_dirs; dir && *dir; dir++) {
        g_autofree char *path = absolute(*dir);
        const struct session_share share = { .path = path };

        if (!session_config_share(config, &share, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean allow_copies(struct session_config *config,
                             const struct cli_machine *machine, GError **error)
{
    for (char **dir = machine->copy_folders; dir && *dir; dir++) {
        g_autofree char *path = absolute(*dir);

        if (!session_config_allow_copy(config, path, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean fill(struct session_config *config,
                     const struct cli_machine *machine, GError **error)
{
    g_autofree char *dir = absolute(folder_of(machine));
    g_autofree char *undo_dir = absolute(machine->place.undo_dir);
    const struct session_share share = { .path = dir, .undo_dir = undo_dir };

    config->kernel = absolute(machine->kernel);
    config->initrd = absolute(machine->initrd);
    if (machine->image) {
        g_free(config->image);
        config->image = g_strdup(machine->image);
    }
    if (machine->memory)
        config->memory_mb = (unsigned)machine->memory;
    if (machine->accel)
        accel_parse(machine->accel, &config->accel);
    if (machine->backend)
        backend_kind_parse(machine->backend, &config->backend);
    if (machine->guest_undo)
        guest_undo_parse(machine->guest_undo, &config->guest_undo);
    config->force_share = machine->force_share;
    config->allow_suid = machine->allow_suid;
    config->allow_devices = machine->allow_devices;
    config->host_ids = machine->host_ids;
    return parse_network(machine, &config->network, error) &&
           cli_ports_parse(machine->publish, config->ports, error) &&
           session_config_share(config, &share, error) &&
           share_more(config, machine, error) &&
           allow_copies(config, machine, error) &&
           session_config_check(config, error);
}

struct session_config *cli_machine_config(const struct cli_machine *machine,
                                          GError **error)
{
    struct session_config *config = session_config_new();

    if (fill(config, machine, error))
        return config;
    session_config_free(config);
    return NULL;
}

/* ---- comparison with a machine that runs --------------------------------- */

static bool has_text(json_t *object, const char *member, const char *text)
{
    return !text ||
           g_strcmp0(json_string_value(json_object_get(object, member)),
                     text) == 0;
}

static bool has_path(json_t *object, const char *member, const char *path)
{
    g_autofree char *wanted = absolute(path);
    g_autofree char *real = path ? real_path_of(path) : NULL;
    g_autofree char *actual = json_bytes_get_path(
        json_object_get(object, member));

    return !path || g_strcmp0(wanted, actual) == 0 ||
           g_strcmp0(real, actual) == 0;
}

static bool has_flag(json_t *object, const char *member, gboolean wanted)
{
    return !wanted || json_is_true(json_object_get(object, member));
}

static bool has_network(const struct cli_machine *machine, json_t *session)
{
    g_autofree struct network_policy *policy = g_new(struct network_policy, 1);
    json_t *wanted;
    bool same;

    if (!machine->network && !machine->no_network)
        return true;
    if (!parse_network(machine, policy, NULL))
        return false;
    wanted = network_policy_to_json(policy);
    same = json_equal(wanted, json_object_get(session, "network_policy"));
    json_decref(wanted);
    return same;
}

static bool has_copy_folders(char *const *dirs, json_t *session)
{
    json_t *list = json_object_get(session, "copy_folders"), *entry;
    size_t i;

    for (; dirs && *dirs; dirs++) {
        g_autofree char *real = real_path_of(*dirs);
        bool found = false;

        json_array_foreach(list, i, entry)
        {
            g_autofree char *path = json_bytes_get_path(entry);

            found = found || g_strcmp0(path, real) == 0;
        }
        if (!found)
            return false;
    }
    return true;
}

const char *cli_machine_conflict(const struct cli_machine *machine,
                                 json_t *session)
{
    json_t *vm = json_object_get(session, "vm");
    json_t *folder = json_array_get(
        json_object_get(session, "working_directories"), 0);
    json_t *memory = json_object_get(vm, "memory_mb");
    const struct {
        const char *option;
        bool agrees;
    } options[] = {
        { "--image", has_text(vm, "image", machine->image) },
        { "--accel", has_text(vm, "accel", machine->accel) },
        { "--backend", has_text(session, "backend", machine->backend) },
        { "--memory",
          !machine->memory || machine->memory == json_integer_value(memory) },
        { "--kernel", has_path(vm, "kernel", machine->kernel) },
        { "--initrd", has_path(vm, "initrd", machine->initrd) },
        { "--undo-dir", has_path(folder, "undo_dir", machine->place.undo_dir) },
        { "--guest-undo",
          has_text(session, "guest_undo", machine->guest_undo) },
        { "--network", has_network(machine, session) },
        { "--publish", cli_ports_are_in(machine->publish,
                                        json_object_get(session, "ports")) },
        { "--copy-folder", has_copy_folders(machine->copy_folders, session) },
        { "--allow-suid",
          has_flag(session, "allow_suid", machine->allow_suid) },
        { "--allow-devices",
          has_flag(session, "allow_devices", machine->allow_devices) },
        { "--host-ids", has_flag(session, "host_ids", machine->host_ids) },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
        if (!options[i].agrees)
            return options[i].option;
    }
    return NULL;
}
