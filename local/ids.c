/* SPDX-License-Identifier: Apache-2.0
 *
 * ids - see ids.h.
 */
#include "local/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "local/report.h"

static bool parse_number(const char **text, char end, unsigned *ret_number)
{
    char *stop;
    unsigned long number;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    number = strtoul(*text, &stop, 10);
    if (errno || number >= (uid_t)-1 || (*stop != end && *stop))
        return false;
    *ret_number = (unsigned)number;
    *text = stop;
    return true;
}

bool ids_parse(const char *text, struct id_ranges *ret_ranges)
{
    struct id_ranges all = { .length = 0 };

    for (; all.length < LOCAL_MAX_RANGES; text++) {
        struct id_range *range = &all.ranges[all.length++];

        if (!parse_number(&text, ':', &range->start) || *text++ != ':' ||
            !parse_number(&text, ',', &range->count) || range->count == 0)
            return false;
        if (*text == '\0') {
            *ret_ranges = all;
            return true;
        }
    }
    return false;
}

bool ids_are_given(const struct ids *ids)
{
    return ids->users.length > 0;
}

bool ids_are_complete(const struct ids *ids)
{
    return ids->users.length == 0
               ? ids->groups.length == 0
               : ids->groups.length > 0 && ids->newuidmap && ids->newgidmap;
}

const struct ids *ids_of_root(void)
{
    static const struct ids all = {
        .users = { .ranges = { { 1, LOCAL_IDS - 1 } }, .length = 1 },
        .groups = { .ranges = { { 1, LOCAL_IDS - 1 } }, .length = 1 },
    };

    return &all;
}

/* ---- the outer namespace ------------------------------------------------- */

enum { NUMBER_SIZE = 12 };

static int run_mapper(const char *program, pid_t target, unsigned own,
                      const struct id_ranges *ids)
{
    static char *const environment[] = { NULL };
    char numbers[2 + LOCAL_MAX_RANGES][NUMBER_SIZE];
    const char *argv[2 + 3 * (1 + LOCAL_MAX_RANGES) + 1] = { program };
    char counts[LOCAL_MAX_RANGES][NUMBER_SIZE];
    size_t n = 1;
    int status = 0;
    pid_t child;

    snprintf(numbers[0], NUMBER_SIZE, "%d", (int)target);
    snprintf(numbers[1], NUMBER_SIZE, "%u", own);
    argv[n++] = numbers[0];
    argv[n++] = numbers[1];
    argv[n++] = numbers[1];
    argv[n++] = "1";
    for (unsigned i = 0; i < ids->length; i++) {
        snprintf(numbers[2 + i], NUMBER_SIZE, "%u", ids->ranges[i].start);
        snprintf(counts[i], NUMBER_SIZE, "%u", ids->ranges[i].count);
        argv[n++] = numbers[2 + i];
        argv[n++] = numbers[2 + i];
        argv[n++] = counts[i];
    }
    child = fork();
    if (child == 0) {
        execve(program, (char *const *)argv, environment);
        _exit(EXIT_FAILURE);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int ids_map_outer(const struct ids *ids, pid_t target)
{
    if (run_mapper(ids->newuidmap, target, geteuid(), &ids->users))
        return 1;
    return run_mapper(ids->newgidmap, target, getegid(), &ids->groups) ? 2 : 0;
}

/* ---- the inner namespace ------------------------------------------------- */

struct map {
    char text[1024]; /* (2 * LOCAL_MAX_RANGES + 1) lines of 3 numbers */
    size_t length;
};

static void add_line(struct map *map, unsigned inside, unsigned outside,
                     unsigned count)
{
    map->length += (size_t)snprintf(map->text + map->length,
                                    sizeof(map->text) - map->length,
                                    "%u %u %u\n", inside, outside, count);
}

/* The own id keeps its number, and the ranges fill those around it. */
static void build_map(struct map *map, const struct id_ranges *ids,
                      unsigned own)
{
    unsigned inside = own == 0 ? 1 : 0;

    map->length = 0;
    add_line(map, own, own, 1);
    for (unsigned i = 0; i < ids->length; i++) {
        struct id_range range = ids->ranges[i];

        while (range.count > 0 && inside < LOCAL_IDS) {
            unsigned count = range.count, end = LOCAL_IDS;

            if (inside < own && own < end)
                end = own;
            if (count > end - inside)
                count = end - inside;
            add_line(map, inside, range.start, count);
            range.start += count;
            range.count -= count;
            inside += count;
            if (inside == own)
                inside++;
        }
    }
}

static bool write_text(const char *path, const char *text, size_t length)
{
    fd_auto int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, length) == (ssize_t)length;
}

static void write_map(pid_t pid, const char *name, const struct id_ranges *ids,
                      unsigned own)
{
    struct map map;
    char path[64];

    build_map(&map, ids, own);
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    if (!write_text(path, map.text, map.length))
        report_failure(LOCAL_NO_NAMESPACES,
                       "cannot map the ids of the sandbox");
}

/* This limit holds for all ids of the namespace, and only a process with
 * CAP_SYS_RESOURCE in it could raise it, which the sandbox's have not. */
static bool forbid_namespaces(void)
{
    return write_text("/proc/sys/user/max_user_namespaces", "0", 1);
}

/* The first process of the namespace, which exists until the socket ends. It
 * sends 0, or errno, which is negative if the limit cannot be set. */
static _Noreturn void hold_inner(int socket)
{
    int problem = 0;
    char byte;

    /* The parent writes the maps. With root's change of ids, the files in /proc
     * belong to the host's root. */
    prctl(PR_SET_DUMPABLE, 1);
    if (unshare(CLONE_NEWUSER) < 0)
        problem = errno;
    else if (!forbid_namespaces())
        problem = -errno;
    if (write(socket, &problem, sizeof(problem)) == sizeof(problem) &&
        read(socket, &byte, 1) == 0)
        _exit(EXIT_SUCCESS);
    _exit(EXIT_FAILURE);
}

static pid_t start_inner(int *ret_socket)
{
    int pair[2], problem = 0;
    pid_t child;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        report_failure(LOCAL_FAILED, "cannot make a socket pair");
    child = fork();
    if (child < 0)
        report_failure(LOCAL_FAILED, "cannot start a process");
    if (child == 0) {
        close(pair[0]);
        hold_inner(pair[1]);
    }
    close(pair[1]);
    if (read(pair[0], &problem, sizeof(problem)) != sizeof(problem))
        problem = ECHILD;
    errno = abs(problem);
    if (problem)
        report_failure(LOCAL_NO_NAMESPACES,
                       problem < 0 ? "cannot forbid further user namespaces"
                                   : "cannot make a second user namespace");
    *ret_socket = pair[0];
    return child;
}

int ids_make_inner(const struct ids *ids)
{
    int socket, inner, status;
    char path[64];
    pid_t child = start_inner(&socket);

    write_map(child, "uid_map", &ids->users, geteuid());
    write_map(child, "gid_map", &ids->groups, getegid());
    snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)child);
    inner = open(path, O_RDONLY); /* bubblewrap inherits it */
    if (inner < 0)
        report_failure(LOCAL_NO_NAMESPACES, "cannot open the user namespace");
    close(socket);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return inner;
}
