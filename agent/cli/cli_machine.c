/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_machine - see cli_machine.h.
 */
#include "agent/cli/cli_machine.h"

#include <string.h>

#include "agent/base/network_entry.h"
#include "agent/cli/cli_bus.h"
#include "agent/cli/cli_ports.h"
#include "agent/machine/accel.h"
#include "agent/machine/backend_kind.h"
#include "agent/machine/guest_image.h"
#include "agent/machine/upstream_proxy.h"
#include "common/byte_size.h"
#include "common/json_bytes.h"
#include "common/real_path.h"

void cli_machine_clear(struct cli_machine *machine)
{
    cli_place_clear(&machine->place);
    g_free(machine->image);
    g_free(machine->isolation);
    g_free(machine->rootfs);
    g_strfreev(machine->session_bus);
    g_free(machine->accel);
    g_free(machine->backend);
    g_free(machine->kernel);
    g_free(machine->initrd);
    g_free(machine->network);
    g_strfreev(machine->networks);
    g_free(machine->upstream_proxy);
    g_free(machine->guest_undo);
    g_strfreev(machine->more_dirs);
    g_strfreev(machine->publish);
    g_strfreev(machine->copy_folders);
    g_free(machine->memory);
    g_free(machine->cpus);
    g_free(machine->pool_size);
    g_free(machine->pool_max_age);
    cli_guest_clear(&machine->guest);
    if (machine->defaults)
        cli_machine_clear(machine->defaults);
    g_free(machine->defaults);
}

/* ---- the network --------------------------------------------------------- */

void cli_machine_join(struct cli_machine *machine)
{
    GString *text;

    if (machine->network || !machine->networks)
        return;
    text = g_string_new(machine->networks[0]);
    for (char **value = machine->networks + 1; *value; value++) {
        if (**value && !g_str_equal(*value, text->str))
            g_string_append_printf(text, "%s%s", text->len > 0 ? "," : "",
                                   *value);
    }
    machine->network = g_string_free(text, FALSE);
}

gboolean cli_machine_network(const struct cli_machine *machine,
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
            ok = network_entry_add(policy, *word, error);
    }
    return ok;
}

/* Return whether a refused list contains "none". */
static bool has_none(const char *list)
{
    g_auto(GStrv) words = g_strsplit(list, ",", -1);

    return g_strv_contains((const char *const *)words, "none");
}

/* Return whether the list has exceptions only, and allows nothing. */
static bool only_denies(const char *list)
{
    g_auto(GStrv) words = g_strsplit(list ? list : "", ",", -1);

    for (char **word = words; *word; word++) {
        if (!g_str_has_prefix(*word, "deny:"))
            return false;
    }
    return *words != NULL;
}

static char *network_problem(const struct cli_machine *machine)
{
    g_autoptr(GError) error = NULL;
    g_autofree struct network_policy *policy = g_new(struct network_policy, 1);

    if (machine->no_network && machine->network)
        return g_strdup("--no-network excludes it; leave one of them out");
    if (cli_machine_network(machine, policy, &error))
        return only_denies(machine->network)
                   ? g_strdup_printf(
                         "'%s' has only exceptions and allows nothing; write "
                         "open,%s to allow all else",
                         machine->network, machine->network)
                   : NULL;
    if (has_none(machine->network))
        return g_strdup("'none' cannot be combined with other entries; a list "
                        "without it already allows nothing else");
    return g_strdup(error->message);
}

static char *upstream_problem(const struct cli_machine *machine)
{
    return g_strdup(upstream_proxy_problem(machine->upstream_proxy));
}

static char *ports_problem(const struct cli_machine *machine)
{
    g_autoptr(GArray)
        ports = g_array_new(FALSE, FALSE, sizeof(struct port_spec));
    g_autoptr(GError) error = NULL;

    cli_ports_parse(machine->publish, ports, &error);
    return error ? g_strdup(error->message) : NULL;
}

/* ---- paths --------------------------------------------------------------- */

/* Return an option's path as an absolute one, NULL for NULL. */
static char *absolute(const char *path)
{
    return path ? g_canonicalize_filename(path, NULL) : NULL;
}

/* ---- checks -------------------------------------------------------------- */

unsigned cli_machine_memory(const struct cli_machine *machine)
{
    const char *text = machine->memory;
    int64_t size;

    if (!text || !byte_size_parse(text, &size))
        return 0;
    if (!text[strspn(text, G_CSET_DIGITS)])
        return (unsigned)MIN(size, (int64_t)SESSION_MEMORY_MAX_MB + 1);
    return (unsigned)MIN(size >> 20, (int64_t)SESSION_MEMORY_MAX_MB + 1);
}

static char *memory_problem(const struct cli_machine *machine)
{
    unsigned mb = cli_machine_memory(machine);

    if (!machine->memory ||
        (mb >= SESSION_MEMORY_MIN_MB && mb <= SESSION_MEMORY_MAX_MB))
        return NULL;
    return g_strdup_printf("must be a number of megabytes from %d to %d, or a "
                           "size such as 512M or 4G, not '%s'",
                           SESSION_MEMORY_MIN_MB, SESSION_MEMORY_MAX_MB,
                           machine->memory);
}

unsigned cli_machine_cpus(const struct cli_machine *machine)
{
    guint64 cpus = 0;

    if (machine->cpus)
        g_ascii_string_to_unsigned(machine->cpus, 10, 1, SESSION_CPUS_MAX,
                                   &cpus, NULL);
    return (unsigned)cpus;
}

static char *cpus_problem(const struct cli_machine *machine)
{
    if (!machine->cpus || cli_machine_cpus(machine) > 0)
        return NULL;
    return g_strdup_printf("must be a number of processors from 1 to %d, not "
                           "'%s'",
                           SESSION_CPUS_MAX, machine->cpus);
}

static char *image_problem(const struct cli_machine *machine)
{
    g_autofree char *dir = machine->image
                               ? guest_image_dir(machine->image, NULL, NULL)
                               : NULL;

    if (dir || !machine->image)
        return NULL;
    return g_strdup_printf("must be the name of an image, such as minimal, not "
                           "'%s'",
                           machine->image);
}

static char *accel_problem(const struct cli_machine *machine)
{
    enum accel accel;

    if (!machine->accel || accel_parse(machine->accel, &accel))
        return NULL;
    return g_strdup_printf("must be auto, kvm or tcg, not '%s'",
                           machine->accel);
}

static char *isolation_problem(const struct cli_machine *machine)
{
    enum isolation isolation;

    if (!machine->isolation || isolation_parse(machine->isolation, &isolation))
        return NULL;
    return g_strdup_printf("must be vm or local, not '%s'", machine->isolation);
}

static char *backend_problem(const struct cli_machine *machine)
{
    enum backend_kind backend;

    if (!machine->backend || backend_kind_parse(machine->backend, &backend))
        return NULL;
    return g_strdup_printf("must be virtiofs or 9p, not '%s'",
                           machine->backend);
}

static char *undo_problem(const struct cli_machine *machine)
{
    enum guest_undo guest_undo;

    if (!machine->guest_undo ||
        guest_undo_parse(machine->guest_undo, &guest_undo))
        return NULL;
    return g_strdup_printf("must be own, all or none, not '%s'",
                           machine->guest_undo);
}

static char *persist_problem(const struct cli_machine *machine)
{
    return machine->no_persist && (machine->persist || machine->new_disk)
               ? g_strdup("--persist and --new-disk exclude it; leave one of "
                          "them out")
               : NULL;
}

static char *bus_problem(const struct cli_machine *machine)
{
    return cli_bus_problem(machine->session_bus);
}

char *cli_machine_problem(const struct cli_machine *machine,
                          const char **ret_option)
{
    static const struct {
        const char *option;
        char *(*problem)(const struct cli_machine *machine);
    } checks[] = {
        { "isolation", isolation_problem },
        { "memory", memory_problem },
        { "cpus", cpus_problem },
        { "accel", accel_problem },
        { "backend", backend_problem },
        { "guest-undo", undo_problem },
        { "image", image_problem },
        { "no-persist", persist_problem },
        { "session-bus", bus_problem },
        { "network", network_problem },
        { "publish", ports_problem },
        { "upstream-proxy", upstream_problem },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(checks); i++) {
        char *problem = checks[i].problem(machine);

        *ret_option = checks[i].option;
        if (problem)
            return problem;
    }
    return g_strdup(cli_guest_problem(&machine->guest, ret_option));
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
    if (!cli_machine_network(machine, policy, NULL))
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
    json_t *cpus = json_object_get(vm, "cpus");
    const struct {
        const char *option;
        bool agrees;
    } options[] = {
        { "--isolation", has_text(session, "isolation", machine->isolation) },
        { "--rootfs", has_text(session, "rootfs", machine->rootfs) },
        { "--session-bus", cli_bus_matches(machine->session_bus, session) },
        { "--image", has_text(vm, "image", machine->image) },
        { "--accel", has_text(vm, "accel", machine->accel) },
        { "--backend", has_text(session, "backend", machine->backend) },
        { "--memory",
          !machine->memory || cli_machine_memory(machine) ==
                                  (memory ? json_integer_value(memory)
                                          : SESSION_MEMORY_DEFAULT_MB) },
        { "--cpus", !machine->cpus ||
                        cli_machine_cpus(machine) == json_integer_value(cpus) },
        { "--persist",
          !machine->persist || has_text(session, "vm_mode", "persistent") },
        { "--no-persist",
          !machine->no_persist || has_text(session, "vm_mode", "ephemeral") },
        { "--new-disk", !machine->new_disk },
        { "--kernel", has_path(vm, "kernel", machine->kernel) },
        { "--initrd", has_path(vm, "initrd", machine->initrd) },
        { "--undo-dir", has_path(folder, "undo_dir", machine->place.undo_dir) },
        { "--guest-undo",
          has_text(session, "guest_undo", machine->guest_undo) },
        { "--network", has_network(machine, session) },
        { "--upstream-proxy",
          has_text(session, "upstream_proxy", machine->upstream_proxy) },
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
