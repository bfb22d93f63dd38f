/* SPDX-License-Identifier: Apache-2.0
 *
 * limits - see limits.h.
 */
#include "local/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/fd.h"
#include "local/report.h"

enum {
    MAX_PROCESSES = 4096,
    /* The kernel's own default. It bounds the fds in flight in UNIX sockets,
     * too, which count for the host's user. */
    MAX_FILES = 4096,
    /* Each timer of timer_create(2) takes one. */
    MAX_SIGNALS = 4096,
    /* Half of the kernel's default: four queues of its default size. */
    MAX_QUEUE_BYTES = 409600,
    /* Of 1 byte: the kernel starts no handler (core(5)). The handler would run
     * as root of the host, outside of all limits. */
    CORE_BYTES = 1,
};

static const struct quota {
    const char *host;  /* of each user of the host */
    const char *below; /* of each user in the current user namespace */
} quotas[LIMITS_QUOTAS] = {
    { "/proc/sys/fs/inotify/max_user_instances",
      "/proc/sys/user/max_inotify_instances" },
    { "/proc/sys/fs/inotify/max_user_watches",
      "/proc/sys/user/max_inotify_watches" },
    { "/proc/sys/fs/fanotify/max_user_groups",
      "/proc/sys/user/max_fanotify_groups" },
    { "/proc/sys/fs/fanotify/max_user_marks",
      "/proc/sys/user/max_fanotify_marks" },
};

static unsigned long read_number(const char *path)
{
    char text[32] = { 0 };
    fd_auto int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        return 0;
    return strtoul(text, NULL, 10);
}

struct limits limits_note_host(void)
{
    struct limits limits;

    for (size_t i = 0; i < LIMITS_QUOTAS; i++)
        limits.quotas[i] = read_number(quotas[i].host);
    return limits;
}

/* A kernel without the quota has neither file. */
static void set_quota(const struct quota *quota, unsigned long host)
{
    char text[32];
    fd_auto int fd = open(quota->below, O_WRONLY | O_CLOEXEC);
    int length = snprintf(text, sizeof(text), "%lu", host / 2);

    if (fd < 0 && errno == ENOENT)
        return;
    if (fd < 0 || write(fd, text, (size_t)length) != length)
        report_failure(LOCAL_NO_NAMESPACES, "cannot set %s", quota->below);
}

/* Lower a limit, for good: no process of the sandbox has CAP_SYS_RESOURCE. */
static void lower(__rlimit_resource_t resource, rlim_t most, const char *what)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        limit = (struct rlimit){ most, most };
    if (limit.rlim_max > most)
        limit.rlim_max = most;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) < 0)
        report_failure(LOCAL_FAILED, "cannot limit %s", what);
}

/* Leave half to the user's other programs, for good. The kernel counts what all
 * processes of a user have. */
static void halve(__rlimit_resource_t resource, rlim_t most, const char *what)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) == 0 && limit.rlim_max / 2 < most)
        most = limit.rlim_max / 2;
    lower(resource, most, what);
}

void limits_forbid_core_dumps(void)
{
    const struct rlimit core = { CORE_BYTES, CORE_BYTES };

    if (setrlimit(RLIMIT_CORE, &core) < 0 && errno != EPERM)
        report_failure(LOCAL_FAILED, "cannot limit core dumps");
}

void limits_set(const struct limits *host)
{
    lower(RLIMIT_NPROC, MAX_PROCESSES, "the number of processes");
    lower(RLIMIT_NOFILE, MAX_FILES, "the number of open files");
    halve(RLIMIT_SIGPENDING, MAX_SIGNALS, "the number of queued signals");
    halve(RLIMIT_MSGQUEUE, MAX_QUEUE_BYTES, "the size of message queues");
    for (size_t i = 0; i < LIMITS_QUOTAS; i++) {
        if (host->quotas[i] > 0)
            set_quota(&quotas[i], host->quotas[i]);
    }
}
