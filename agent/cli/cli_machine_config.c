/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_machine_config - see cli_machine_config.h.
 */
#include "agent/cli/cli_machine_config.h"

#include <string.h>

#include "agent/cli/cli_bus.h"
#include "agent/cli/cli_defaults.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_ports.h"
#include "agent/machine/guest_image.h"
#include "agent/machine/session_config_check.h"
#include "agent/vm/vm_disk.h"

/* Return an option's path as an absolute one, NULL for NULL. */
static char *absolute(const char *path)
{
    return path ? g_canonicalize_filename(path, NULL) : NULL;
}

static const char *folder_of(const struct cli_machine *machine)
{
    return machine->place.dir ? machine->place.dir : ".";
}

bool cli_machine_check(struct cli_machine *machine, const char *command)
{
    const char *option;
    g_autofree char *problem = NULL;
    g_autoptr(GError) error = NULL;

    cli_machine_join(machine);
    problem = cli_machine_problem(machine, &option);
    if (problem) {
        cli_options_wrong("%s: --%s: %s", command, option, problem);
        return false;
    }
    machine->defaults = cli_defaults_load(&error);
    if (!machine->defaults)
        cli_options_wrong("%s", error->message);
    return machine->defaults != NULL;
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

static void replace(char **string, const char *value)
{
    if (!value)
        return;
    g_free(*string);
    *string = g_strdup(value);
}

/* Apply the options that were given, over those that config has. */
static gboolean apply(struct session_config *config,
                      const struct cli_machine *machine, GError **error)
{
    if (machine->isolation)
        isolation_parse(machine->isolation, &config->isolation);
    replace(&config->rootfs, machine->rootfs);
    replace(&config->upstream_proxy, machine->upstream_proxy);
    replace(&config->image, machine->image);
    if (machine->memory)
        config->memory_mb = cli_machine_memory(machine);
    if (machine->cpus)
        config->cpus = cli_machine_cpus(machine);
    if (machine->accel)
        accel_parse(machine->accel, &config->accel);
    if (machine->backend)
        backend_kind_parse(machine->backend, &config->backend);
    if (machine->guest_undo)
        guest_undo_parse(machine->guest_undo, &config->guest_undo);
    if (machine->persist || machine->new_disk || machine->no_persist)
        config->persistent = !machine->no_persist;
    if ((machine->network || machine->no_network) &&
        !cli_machine_network(machine, &config->network, error))
        return FALSE;
    return cli_guest_apply(&machine->guest, config, error);
}

/* Drop the defaults of config.ini that the kind of isolation has no use for,
 * and refuse such options of the command line. */
static gboolean fit_isolation(struct session_config *config,
                              const struct cli_machine *machine, GError **error)
{
    if (config->isolation != ISOLATION_LOCAL) {
        if (!machine->rootfs)
            g_clear_pointer(&config->rootfs, g_free);
        return TRUE;
    }
    if (machine->image)
        return session_config_refuse_image(config, machine->image, error);
    if (machine->accel)
        return session_config_refuse_accel(error);
    replace(&config->image, GUEST_IMAGE_DEFAULT);
    config->accel = ACCEL_AUTO;
    return TRUE;
}

/* Only what the command line has. */
static void apply_own(struct session_config *config,
                      const struct cli_machine *machine)
{
    config->kernel = absolute(machine->kernel);
    config->initrd = absolute(machine->initrd);
    config->session_bus = cli_bus_rules(machine->session_bus);
    config->no_template = machine->no_template;
    config->no_pool = machine->no_pool;
    config->force_share = machine->force_share;
    config->allow_suid = machine->allow_suid;
    config->allow_devices = machine->allow_devices;
    config->host_ids = machine->host_ids;
}

static gboolean fill(struct session_config *config,
                     const struct cli_machine *machine, GError **error)
{
    g_autofree char *dir = absolute(folder_of(machine));
    g_autofree char *undo_dir = absolute(machine->place.undo_dir);
    const struct session_share share = { .path = dir, .undo_dir = undo_dir };

    apply_own(config, machine);
    return session_config_share(config, &share, error) &&
           share_more(config, machine, error) &&
           allow_copies(config, machine, error) &&
           cli_defaults_check_place(config, error) &&
           apply(config, machine->defaults, error) &&
           apply(config, machine, error) &&
           fit_isolation(config, machine, error) &&
           cli_guest_add_host(&machine->guest, &machine->defaults->guest,
                              config, error) &&
           cli_ports_parse(machine->publish, config->ports, error) &&
           session_config_check(config, error);
}

/* Here rather than at the start: a sandbox that starts again keeps its disk. */
static gboolean make_new_disk(struct session_config *config, GError **error)
{
    struct guest_image *image = guest_image_find(
        config->image, config->kernel, config->initrd, config->disk, error);
    struct vm_disk *disk;

    config->wipe = true;
    disk = image ? vm_disk_open(config, image, error) : NULL;
    config->wipe = false;
    vm_disk_free(disk);
    guest_image_free(image);
    return disk != NULL;
}

struct session_config *cli_machine_config(const struct cli_machine *machine,
                                          GError **error)
{
    struct session_config *config = session_config_new();

    if (fill(config, machine, error) &&
        (!machine->new_disk || make_new_disk(config, error)))
        return config;
    session_config_free(config);
    return NULL;
}

struct session_config *cli_machine_shape(const struct cli_machine *machine,
                                         GError **error)
{
    struct session_config *config = session_config_new();

    apply_own(config, machine);
    if (apply(config, machine->defaults, error) &&
        apply(config, machine, error))
        return config;
    session_config_free(config);
    return NULL;
}
