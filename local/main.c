/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback-local - makes the namespaces of a local sandbox, then becomes
 * bubblewrap.
 *
 *     stepback-local --control=FD --folders=LETTERS [--root=TREE] [--network]
 *         -- BWRAP ARG...
 *     stepback-local --probe
 *
 * There is a letter for each folder: "w", or "r" for a read-only one. TREE
 * replaces the system of the host. The
 * supervisor gets the /dev/fuse of each folder (wire.h) and has it served by
 * stepback-virtiofsd, outside. Nothing here reads what a guest can write.
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
#include <sys/resource.h>
#include <unistd.h>

#include "common/host_environ.h"
#include "common/inherited.h"
#include "local/filter.h"
#include "local/namespaces.h"
#include "local/network.h"
#include "local/report.h"

struct options {
    int control;
    const char *folders, *root;
    bool network;
    char **command;
};

static _Noreturn void fail_usage(void)
{
    fprintf(stderr, "stepback-local: \"stepback\" starts this program\n");
    exit(2);
}

static void parse(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        { "control", required_argument, NULL, 'c' },
        { "folders", required_argument, NULL, 'f' },
        { "root", required_argument, NULL, 'r' },
        { "network", no_argument, NULL, 'n' },
        { "probe", no_argument, NULL, 'p' },
        { "version", no_argument, NULL, 'v' },
        { 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, "+", known, NULL)) != -1) {
        if (option == 'c')
            options->control = atoi(optarg);
        else if (option == 'f')
            options->folders = optarg;
        else if (option == 'r')
            options->root = optarg;
        else if (option == 'n')
            options->network = true;
        else if (option == 'p') {
            namespaces_enter();
            namespaces_become_own();
            exit(0);
        } else if (option == 'v') {
            puts("stepback-local " PACKAGE_VERSION);
            exit(0);
        } else {
            fail_usage();
        }
    }
    options->command = argv + optind;
    if (options->control < 0 || !options->folders || !options->command[0] ||
        strlen(options->folders) > LOCAL_MAX_FOLDERS ||
        strspn(options->folders, "rw") != strlen(options->folders))
        fail_usage();
}

/* The filter is bubblewrap's first option. The sandbox can read bubblewrap's
 * environment in /proc/1, so that it has none. */
static _Noreturn void become_bwrap(char **command)
{
    static char *const environment[] = { NULL };
    size_t count = 0;
    char filter[16], **argv;

    while (command[count])
        count++;
    argv = calloc(count + 3, sizeof(*argv));
    if (!argv)
        report_failure(LOCAL_FAILED, "cannot start bubblewrap");
    snprintf(filter, sizeof(filter), "%d", filter_make());
    argv[0] = command[0];
    argv[1] = (char *)"--seccomp";
    argv[2] = filter;
    memcpy(argv + 3, command + 1, (count - 1) * sizeof(*argv));
    execve(argv[0], argv, environment);
    report_failure(LOCAL_FAILED, "cannot run %s", argv[0]);
}

/* The kernel counts the processes of each user namespace apart: this limits
 * those of the sandbox, where it has no cgroup. */
static void limit_processes(void)
{
    enum { MAX_PROCESSES = 4096 };
    struct rlimit limit;

    if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_max < MAX_PROCESSES)
        return;
    limit.rlim_cur = limit.rlim_max = MAX_PROCESSES;
    if (setrlimit(RLIMIT_NPROC, &limit) < 0)
        report_failure(LOCAL_FAILED, "cannot limit the number of processes");
}

static int open_device(const char *path, enum local_message problem)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        report_failure(problem, "%s", path);
    return fd;
}

int main(int argc, char **argv)
{
    struct options options = { .control = -1 };
    int fds[LOCAL_MAX_FOLDERS + 1];
    size_t count = 0, folders;
    int root = -1;

    if (!inherited_streams_fill())
        return EXIT_FAILURE;
    host_environ_restrict();
    parse(argc, argv, &options);
    report_open(options.control);
    folders = strlen(options.folders);
    namespaces_enter();
    for (; count < folders; count++)
        fds[count] = open_device("/dev/fuse", LOCAL_NO_FUSE);
    if (options.network)
        fds[count++] = open_device("/dev/net/tun", LOCAL_NO_NETWORK);
    if (options.root)
        root = namespaces_open_root(options.root);
    namespaces_become_own();
    limit_processes();
    if (root >= 0)
        namespaces_mount_root(root);
    for (size_t i = 0; i < folders; i++)
        namespaces_mount((unsigned)i, options.folders[i] == 'r', fds[i]);
    network_open_loopback();
    if (options.network)
        network_open(fds[folders]);
    report_ready(fds, count);
    become_bwrap(options.command);
}
