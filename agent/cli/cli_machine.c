/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_machine - see cli_machine.h.
 */
#include "agent/cli/cli_machine.h"

#include <string.h>

#include "agent/cli/cli_options.h"
#include "agent/vm/accel.h"
#include "agent/vm/backend_kind.h"
#include "agent/vm/guest_image.h"
#include "agent/vm/session_config.h"

void cli_machine_clear(struct cli_machine *machine)
{
    cli_place_clear(&machine->place);
    g_free(machine->image);
    g_free(machine->accel);
    g_free(machine->backend);
    g_free(machine->kernel);
    g_free(machine->initrd);
    g_free(machine->network);
}

/* ---- the network --------------------------------------------------------- */

static json_t *list_everything(void)
{
    return json_pack("[s, s]", "0.0.0.0/0", "::/0");
}

/* "open", "none", or a list, as network_policy (network_policy.h). */
static json_t *network_value(const struct cli_machine *machine)
{
    const char *text = machine->network ? machine->network : "open";
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    json_t *allow = json_array();
    bool dns = false;

    if (machine->no_network || strcmp(text, "none") == 0 ||
        strcmp(text, "open") == 0) {
        json_decref(allow);
        return json_string(machine->no_network || *text == 'n' ? "disabled"
                                                               : "open");
    }
    for (char **word = words; *word; word++) {
        if (strcmp(*word, "open") == 0) {
            json_t *everything = list_everything();

            json_array_extend(allow, everything);
            json_decref(everything);
            dns = true;
        } else if (strcmp(*word, "dns") == 0) {
            dns = true;
        } else {
            json_array_append_new(allow, json_string(*word));
        }
    }
    return json_pack("{s:o, s:b}", "allow", allow, "dns", dns);
}

/* Of a list that is refused: was nothing meant, or what else is on it? */
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
    json_t *value = network_value(machine);
    bool ok = network_policy_parse(value, policy, &error);

    json_decref(value);
    if (ok && machine->no_network && machine->network)
        cli_options_wrong("%s: --no-network and --network exclude each other",
                          command);
    else if (!ok && has_none(machine->network))
        cli_options_wrong("%s: --network: 'none' stands alone; what is on a "
                          "list without it is all that the guest may reach",
                          command);
    else if (!ok)
        cli_options_wrong("%s: --network: %s", command, error->message);
    return ok && !(machine->no_network && machine->network);
}

/* ---- paths --------------------------------------------------------------- */

/* An option's path as an absolute one, NULL for NULL. */
static char *absolute(const char *path)
{
    return path ? g_canonicalize_filename(path, NULL) : NULL;
}

static const char *folder_of(const struct cli_machine *machine)
{
    return machine->place.dir ? machine->place.dir : ".";
}

/* A session's start is described in JSON, which has text alone. */
static bool check_paths(const struct cli_machine *machine, const char *command)
{
    const struct {
        const char *option, *path;
    } paths[] = {
        { "-C", folder_of(machine) },
        { "-C", machine->place.below },
        { "--undo-dir", machine->place.undo_dir },
        { "--kernel", machine->kernel },
        { "--initrd", machine->initrd },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autofree char *path = absolute(paths[i].path);

        if (path && !g_utf8_validate(path, -1, NULL)) {
            g_autofree char *shown = g_filename_display_name(path);

            cli_options_wrong("%s: %s is not UTF-8; make a symbolic link to it "
                              "whose path is, and give that with %s",
                              command, shown, paths[i].option);
            return false;
        }
    }
    return true;
}

/* ---- all of it ----------------------------------------------------------- */

bool cli_machine_check(const struct cli_machine *machine, const char *command)
{
    g_autofree char *image = NULL;
    enum backend_kind backend;
    enum accel accel;

    if (machine->memory && (machine->memory < SESSION_MEMORY_MIN_MB ||
                            machine->memory > SESSION_MEMORY_MAX_MB))
        cli_options_wrong("%s: --memory is a number of megabytes from %d to %d",
                          command, SESSION_MEMORY_MIN_MB,
                          SESSION_MEMORY_MAX_MB);
    else if (machine->accel && !accel_parse(machine->accel, &accel))
        cli_options_wrong("%s: --accel is auto, kvm or tcg, and not '%s'",
                          command, machine->accel);
    else if (machine->backend &&
             !backend_kind_parse(machine->backend, &backend))
        cli_options_wrong("%s: --backend is virtiofs or 9p, and not '%s'",
                          command, machine->backend);
    else if (machine->image && !(image = guest_image_dir(machine->image, NULL)))
        cli_options_wrong("%s: --image is the name of an image, such as "
                          "minimal, and not '%s'",
                          command, machine->image);
    else
        return check_paths(machine, command) && check_network(machine, command);
    return false;
}

static void set_string(json_t *object, const char *key, const char *value)
{
    if (value)
        json_object_set_new(object, key, json_string(value));
}

/* So both the command line and frontends are checked in one place. */
json_t *cli_machine_payload(const struct cli_machine *machine)
{
    g_autofree char *dir = absolute(folder_of(machine));
    g_autofree char *kernel = absolute(machine->kernel);
    g_autofree char *initrd = absolute(machine->initrd);
    g_autofree char *undo_dir = absolute(machine->place.undo_dir);
    json_t *vm = json_object(), *folder = json_object(), *payload;

    set_string(vm, "image", machine->image);
    set_string(vm, "accel", machine->accel);
    set_string(vm, "kernel", kernel);
    set_string(vm, "initrd", initrd);
    if (machine->memory)
        json_object_set_new(vm, "memory_mb", json_integer(machine->memory));
    set_string(folder, "path", dir);
    set_string(folder, "undo_dir", undo_dir);
    payload = json_pack("{s:[o], s:o, s:s*, s:o, s:b}", "working_directories",
                        folder, "vm", vm, "backend", machine->backend,
                        "network_policy", network_value(machine), "force_share",
                        machine->force_share);
    if (machine->allow_suid)
        json_object_set_new(payload, "allow_suid", json_true());
    if (machine->allow_devices)
        json_object_set_new(payload, "allow_devices", json_true());
    if (machine->host_ids)
        json_object_set_new(payload, "host_ids", json_true());
    return payload;
}
