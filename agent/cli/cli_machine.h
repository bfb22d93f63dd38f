/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_machine - the options for the virtual machine and its folder, shared by
 * the commands that start one.
 */
#ifndef AGENT_CLI_CLI_MACHINE_H
#define AGENT_CLI_CLI_MACHINE_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/cli/cli_guest.h"
#include "agent/cli/cli_place.h"

/* The values as given: strings are owned, NULL if not given. */
struct cli_machine {
    struct cli_place place;
    char **more_dirs; /* further working folders */
    char *isolation, *rootfs, *image, *accel, *backend, *kernel, *initrd,
        *network, *upstream_proxy;
    char **session_bus; /* rules, or several with commas */
    char **networks;    /* each --network, for cli_machine_join() */
    char **publish;
    char **copy_folders; /* for MCP clients */
    char *guest_undo;
    char *memory; /* megabytes, or with a suffix */
    char *cpus;
    gboolean persist, no_persist, new_disk;
    struct cli_guest guest;
    char *pool_size, *pool_max_age; /* only in defaults */
    struct cli_machine *defaults;   /* of config.ini, owned, or NULL */
    gboolean no_network, no_template, no_pool, force_share;
    gboolean allow_suid, allow_devices, host_ids;
};

void cli_machine_clear(struct cli_machine *machine);

/* The options as initialisers of a GOptionEntry array; without the folder's in
 * CLI_MACHINE_OPTIONS_BUT_FOLDER. */
#define CLI_MACHINE_OPTIONS(machine)                                           \
    { "directory",                                                             \
      'C',                                                                     \
      0,                                                                       \
      G_OPTION_ARG_FILENAME,                                                   \
      &(machine)->place.dir,                                                   \
      "the working folder (default: the current one)",                         \
      "DIR" },                                                                 \
        CLI_MACHINE_OPTIONS_BUT_FOLDER(machine)

/* Those that decide what a template of the machine depends on. */
#define CLI_MACHINE_SHAPE_OPTIONS(machine)                                     \
    { "image",                                                                 \
      0,                                                                       \
      0,                                                                       \
      G_OPTION_ARG_STRING,                                                     \
      &(machine)->image,                                                       \
      "the guest image: minimal (default), debian, standard",                  \
      "NAME" },                                                                \
        { "accel",                                                             \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_STRING,                                                 \
          &(machine)->accel,                                                   \
          "auto (default), kvm, or tcg (emulation, slow)",                     \
          "ACCEL" },                                                           \
        { "backend",                                                           \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_STRING,                                                 \
          &(machine)->backend,                                                 \
          "how the guest reaches the folder: virtiofs (default) or 9p",        \
          "NAME" },                                                            \
        { "memory",                                                            \
          'm',                                                                 \
          0,                                                                   \
          G_OPTION_ARG_STRING,                                                 \
          &(machine)->memory,                                                  \
          "the guest's memory, as 2G or in megabytes, from 128 "               \
          "(default: 1024)",                                                   \
          "SIZE" },                                                            \
        { "cpus",                                                              \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_STRING,                                                 \
          &(machine)->cpus,                                                    \
          "the guest's processors (default: 2, or 1 if it is emulated)",       \
          "N" },                                                               \
        { "kernel",                                                            \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_FILENAME,                                               \
          &(machine)->kernel,                                                  \
          "boot this kernel instead of the image's",                           \
          "FILE" },                                                            \
        { "initrd",                                                            \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_FILENAME,                                               \
          &(machine)->initrd,                                                  \
          "boot with this initramfs",                                          \
          "FILE" },                                                            \
        { "network",                                                           \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_STRING_ARRAY,                                           \
          &(machine)->networks,                                                \
          "what the guest may reach: open (default), none, or a list such as " \
          "preset:npm,api.example.org,*.example.com,10.0.0.0/8,1.2.3.4:443; "  \
          "repeat it for more entries",                                        \
          "POLICY" },                                                          \
    {                                                                          \
        "no-network", 0, 0, G_OPTION_ARG_NONE, &(machine)->no_network,         \
            "same as --network=none", NULL                                     \
    }

#define CLI_MACHINE_OPTIONS_BUT_FOLDER(machine)                                \
    { "isolation",                                                             \
      0,                                                                       \
      0,                                                                       \
      G_OPTION_ARG_STRING,                                                     \
      &(machine)->isolation,                                                   \
      "vm (default), or local: namespaces of this host's kernel",              \
      "KIND" },                                                                \
        { "rootfs",                                                            \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_STRING,                                                 \
          &(machine)->rootfs,                                                  \
          "with --isolation=local: the system of this guest image instead of " \
          "the host's",                                                        \
          "IMAGE" },                                                           \
        { "session-bus",                                                       \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_STRING_ARRAY,                                           \
          &(machine)->session_bus,                                             \
          "with --isolation=local: allow this method, or signal, of a "        \
          "service on your session bus; several are possible",                 \
          "NAME=INTERFACE.METHOD[@PATH]" },                                    \
        CLI_MACHINE_SHAPE_OPTIONS(machine),                                    \
        { "persist",                                                           \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_NONE,                                                   \
          &(machine)->persist,                                                 \
          "keep the machine's disk for the next machine of this folder and "   \
          "image",                                                             \
          NULL },                                                              \
        { "no-persist",                                                        \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_NONE,                                                   \
          &(machine)->no_persist,                                              \
          "discard what is written to the disk (default)",                     \
          NULL },                                                              \
        { "new-disk",                                                          \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_NONE,                                                   \
          &(machine)->new_disk,                                                \
          "same as --persist, with a new disk in place of the kept one",       \
          NULL },                                                              \
        { "upstream-proxy",                                                    \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_STRING,                                                 \
          &(machine)->upstream_proxy,                                          \
          "the proxy that connections to names go through (default: "          \
          "HTTPS_PROXY and the like), or none",                                \
          "URL" },                                                             \
        CLI_GUEST_OPTIONS(&(machine)->guest),                                  \
        { "no-template",                                                       \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_NONE,                                                   \
          &(machine)->no_template,                                             \
          "boot the machine, rather than continue from the saved state of "    \
          "one that has booted",                                               \
          NULL },                                                              \
        { "no-pool",                                                           \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_NONE,                                                   \
          &(machine)->no_pool,                                                 \
          "start a machine of its own, rather than take one that waits",       \
          NULL },                                                              \
        { "undo-dir",                                                          \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_FILENAME,                                               \
          &(machine)->place.undo_dir,                                          \
          "keep the undo log in this folder",                                  \
          "DIR" },                                                             \
        { "publish",                                                           \
          'p',                                                                 \
          0,                                                                   \
          G_OPTION_ARG_STRING_ARRAY,                                           \
          &(machine)->publish,                                                 \
          "a port of the host that leads to one of the guest: "                \
          "[ADDRESS:]HOST:GUEST[/udp]; several are possible",                  \
          "PORTS" },                                                           \
        { "guest-undo",                                                        \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_STRING,                                                 \
          &(machine)->guest_undo,                                              \
          "which steps a process in the guest may undo: own (default: those "  \
          "of its command), all, or none",                                     \
          "POLICY" },                                                          \
        { "force-share",                                                       \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_NONE,                                                   \
          &(machine)->force_share,                                             \
          "share the folder even if it contains keys or host programs",        \
          NULL },                                                              \
        { "allow-suid",                                                        \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_NONE,                                                   \
          &(machine)->allow_suid,                                              \
          "let the guest create set-user-ID files in the folder",              \
          NULL },                                                              \
        { "allow-devices",                                                     \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_NONE,                                                   \
          &(machine)->allow_devices,                                           \
          "let the guest create device nodes in the folder",                   \
          NULL },                                                              \
    {                                                                          \
        "host-ids", 0, 0, G_OPTION_ARG_NONE, &(machine)->host_ids,             \
            "show the guest the owners that files have on this host", NULL     \
    }

/* Of the commands whose machine serves MCP clients. */
#define CLI_MACHINE_COPY_FOLDER(machine)                                       \
    {                                                                          \
        "copy-folder", 0, 0, G_OPTION_ARG_FILENAME_ARRAY,                      \
            &(machine)->copy_folders,                                          \
            "let an assistant copy files from and to this folder of the host " \
            "too; several are possible",                                       \
            "DIR"                                                              \
    }

/* Return what is wrong with an option as a new string, and set *ret_option to
 * its name; NULL: nothing. */
char *cli_machine_problem(const struct cli_machine *machine,
                          const char **ret_option);

/* Return the memory in megabytes; 0: not given, or malformed. */
unsigned cli_machine_memory(const struct cli_machine *machine);

/* Return the number of processors, likewise. */
unsigned cli_machine_cpus(const struct cli_machine *machine);

/* Set the network to what the options --network say together. Call it once
 * after the options were parsed; cli_machine_check() does. */
void cli_machine_join(struct cli_machine *machine);

/* Parse the network: "open", "none", or a list of networks, open and dns. */
gboolean cli_machine_network(const struct cli_machine *machine,
                             struct network_policy *policy, GError **error);

/* Return the first option whose value differs from what a machine has (the
 * payload of session.start, with all defaults): static, or NULL. Options that
 * were not given agree with any machine, and so do defaults and options that
 * matter only when a machine starts. */
const char *cli_machine_conflict(const struct cli_machine *machine,
                                 json_t *session);

#endif
