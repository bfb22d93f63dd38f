/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback-local - makes the namespaces of a local sandbox, then becomes
 * bubblewrap.
 *
 *     stepback-local --control=FD --folders=LETTERS [IDS] [--root=TREE]
 *         [--bus=SOCKET --bus-ready=FD] [--network] -- BWRAP ARG...
 *     stepback-local --control=FD --folders=LETTER --outer=FD --inner=FD
 *         --attach=PATH
 *     stepback-local --control=FD --outer=FD --inner=FD --number=N
 *         --detach=DEVICE [--force]
 *     stepback-local [IDS] --probe
 *
 * IDS: --users=RANGES --groups=RANGES --newuidmap=PROGRAM --newgidmap=PROGRAM,
 * the subordinate ids (ids.h).
 * There is a letter for each folder: "w", or "r" for a read-only one. TREE
 * replaces the system of the host. SOCKET (bus.h) is there once FD has a byte.
 * The supervisor gets the /dev/fuse of each folder (wire.h) and has it served
 * by stepback-virtiofsd, outside. Nothing here reads what a guest can write.
 * --attach and --detach change a running sandbox (attach.h) and then end.
 * --probe only tries whether the host allows the namespaces.
 */
#include <config.h>

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/host_environ.h"
#include "common/inherited.h"
#include "local/attach.h"
#include "local/bus.h"
#include "local/filter.h"
#include "local/ids.h"
#include "local/limits.h"
#include "local/namespaces.h"
#include "local/network.h"
#include "local/report.h"

struct options {
    int control;
    const char *folders, *root, *bus;
    int bus_ready;
    int change; /* of a running sandbox: 'a', 'd', or 0 */
    struct attach_place place;
    struct ids ids;
    bool network, force, probe;
    char **command;
};

static _Noreturn void fail_usage(void)
{
    fprintf(stderr, "stepback-local: \"stepback\" starts this program\n");
    exit(2);
}

static const struct option known[] = {
    { "control", required_argument, NULL, 'c' },
    { "folders", required_argument, NULL, 'f' },
    { "root", required_argument, NULL, 'r' },
    { "bus", required_argument, NULL, 'b' },
    { "bus-ready", required_argument, NULL, 'B' },
    { "network", no_argument, NULL, 'n' },
    { "outer", required_argument, NULL, 'o' },
    { "inner", required_argument, NULL, 'i' },
    { "attach", required_argument, NULL, 'a' },
    { "detach", required_argument, NULL, 'd' },
    { "number", required_argument, NULL, 'm' },
    { "force", no_argument, NULL, 'F' },
    { "users", required_argument, NULL, 'U' },
    { "groups", required_argument, NULL, 'G' },
    { "newuidmap", required_argument, NULL, 'u' },
    { "newgidmap", required_argument, NULL, 'g' },
    { "probe", no_argument, NULL, 'p' },
    { "version", no_argument, NULL, 'v' },
    { 0 },
};

static bool take_ids(struct ids *ids, int option, const char *value)
{
    switch (option) {
    case 'U':
        return ids_parse(value, &ids->users);
    case 'G':
        return ids_parse(value, &ids->groups);
    case 'u':
        ids->newuidmap = value;
        return value[0] == '/';
    case 'g':
        ids->newgidmap = value;
        return value[0] == '/';
    default:
        return false;
    }
}

static bool take_option(struct options *options, int option, char *value)
{
    switch (option) {
    case 'c':
        options->control = atoi(value);
        return true;
    case 'f':
        options->folders = value;
        return true;
    case 'r':
        options->root = value;
        return true;
    case 'b':
        options->bus = value;
        return true;
    case 'B':
        options->bus_ready = atoi(value);
        return true;
    case 'n':
        options->network = true;
        return true;
    case 'o':
        options->place.outer = atoi(value);
        return true;
    case 'i':
        options->place.inner = atoi(value);
        return true;
    case 'a':
        options->change = option;
        options->place.path = value;
        return true;
    case 'd':
        options->change = option;
        options->place.device = strtoull(value, NULL, 10);
        return true;
    case 'm':
        options->place.number = (unsigned)atoi(value);
        return true;
    case 'F':
        options->force = true;
        return true;
    case 'p':
        options->probe = true;
        return true;
    default:
        return take_ids(&options->ids, option, value);
    }
}

static bool has_folders(const struct options *options)
{
    return options->folders && strlen(options->folders) <= LOCAL_MAX_FOLDERS &&
           strspn(options->folders, "rw") == strlen(options->folders);
}

static bool is_complete(const struct options *options)
{
    if (!ids_are_complete(&options->ids))
        return false;
    if (options->probe)
        return true;
    if (options->control < 0)
        return false;
    if (!options->change)
        return has_folders(options) && options->command[0] &&
               !options->bus == (options->bus_ready < 0);
    if (options->place.outer < 0 || options->place.inner < 0)
        return false;
    return options->change == 'd'
               ? options->place.device > 0
               : options->place.path[0] == '/' && has_folders(options);
}

static void parse(int argc, char **argv, struct options *options)
{
    int option;

    while ((option = getopt_long(argc, argv, "+", known, NULL)) != -1) {
        if (option == 'v') {
            puts("stepback-local " PACKAGE_VERSION);
            exit(EXIT_SUCCESS);
        }
        if (!take_option(options, option, optarg))
            fail_usage();
    }
    options->command = argv + optind;
    if (!is_complete(options))
        fail_usage();
}

static int change_folder(const struct options *options)
{
    if (options->change == 'a')
        attach_folder(&options->place, options->folders[0] == 'r');
    else
        attach_remove(&options->place, options->force);
    return EXIT_SUCCESS;
}

/* inner: a user namespace, or -1. Its fd and the filter's are bubblewrap's
 * first options. The sandbox can read bubblewrap's environment in /proc/1, so
 * that it has none. */
static _Noreturn void become_bwrap(char **command, int inner)
{
    enum { MORE = 4 };
    static char *const environment[] = { NULL };
    size_t count = 0, n = 1;
    char filter[16], namespace[16], **argv;

    while (command[count])
        count++;
    argv = calloc(count + MORE + 1, sizeof(*argv));
    if (!argv)
        report_failure(LOCAL_FAILED, "cannot start bubblewrap");
    snprintf(filter, sizeof(filter), "%d", filter_make());
    snprintf(namespace, sizeof(namespace), "%d", inner);
    argv[0] = command[0];
    argv[n++] = (char *)"--seccomp";
    argv[n++] = filter;
    if (inner >= 0) {
        argv[n++] = (char *)"--userns";
        argv[n++] = namespace;
    }
    memcpy(argv + n, command + 1, (count - 1) * sizeof(*argv));
    execve(argv[0], argv, environment);
    report_failure(LOCAL_FAILED, "cannot run %s", argv[0]);
}

static int open_device(const char *path, enum local_message problem)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        report_failure(problem, "%s", path);
    return fd;
}

/* Return the user namespace of a sandbox with several ids, or -1: bubblewrap
 * makes that of a single one. */
static int make_inner(const struct ids *ids)
{
    if (geteuid() == 0)
        return ids_make_inner(ids_of_root());
    return ids_are_given(ids) ? ids_make_inner(ids) : -1;
}

static int probe(const struct ids *ids)
{
    namespaces_enter(ids);
    namespaces_become_own();
    make_inner(ids);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct options options = { .control = -1,
                               .bus_ready = -1,
                               .place = { .outer = -1, .inner = -1 } };
    int fds[LOCAL_MAX_FOLDERS + 1];
    uint64_t devices[LOCAL_MAX_FOLDERS];
    size_t count = 0, folders;
    int root = -1, bus = -1, inner;
    struct limits limits;

    if (!inherited_streams_fill())
        return EXIT_FAILURE;
    host_environ_restrict();
    parse(argc, argv, &options);
    if (options.probe)
        return probe(&options.ids);
    report_open(options.control);
    if (options.change)
        return change_folder(&options);
    folders = strlen(options.folders);
    if (options.bus)
        bus_await(options.bus, options.bus_ready);
    limits_forbid_core_dumps();
    limits = limits_note_host();
    namespaces_leave_keyring();
    namespaces_enter(&options.ids);
    for (; count < folders; count++)
        fds[count] = open_device("/dev/fuse", LOCAL_NO_FUSE);
    if (options.network)
        fds[count++] = open_device("/dev/net/tun", LOCAL_NO_NETWORK);
    if (options.root)
        root = namespaces_open_tree(options.root);
    if (options.bus)
        bus = namespaces_open_tree(options.bus);
    namespaces_become_own();
    limits_set(&limits);
    inner = make_inner(&options.ids);
    if (root >= 0)
        namespaces_mount_root(root);
    if (bus >= 0)
        bus_mount(bus);
    for (size_t i = 0; i < folders; i++)
        devices[i] = namespaces_mount((unsigned)i, options.folders[i] == 'r',
                                      fds[i]);
    network_open_loopback();
    if (options.network)
        network_open(fds[folders]);
    report_ready(fds, count, devices, folders);
    report_close();
    become_bwrap(options.command, inner);
}
