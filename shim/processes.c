/* SPDX-License-Identifier: Apache-2.0
 *
 * processes - see processes.h.
 */
#include "shim/processes.h"

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define HOME_NAME "stepback-%d" /* the pid keeps two shims apart */

#define FAMILY_MAX 64 /* ancestors beyond these count as others */

/* Mount points of cgroup v2: alone, or beside version 1. */
static const char *const cgroup_roots[] = {
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/unified",
};

/* Called for each process of a walk; return false to stop. */
typedef bool (*process_fn)(pid_t pid, void *opaque);

struct process_stat {
    char state;
    pid_t parent;
};

/* Read a small file. Return its length (the text is NUL-terminated) or
 * -errno. */
static ssize_t read_text(int dir, const char *name, char *text, size_t size)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0)
        return -errno;
    got = read(fd, text, size - 1);
    close(fd);
    if (got < 0)
        return -errno;
    text[got] = '\0';
    return got;
}

static int write_text(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
    ssize_t put;

    if (fd < 0)
        return -errno;
    put = write(fd, text, strlen(text));
    close(fd);
    return put < 0 ? -errno : 0;
}

static const char *find_cgroup_root(void)
{
    struct statfs fs;

    for (size_t i = 0; i < sizeof(cgroup_roots) / sizeof(cgroup_roots[0]);
         i++) {
        if (statfs(cgroup_roots[i], &fs) == 0 &&
            fs.f_type == CGROUP2_SUPER_MAGIC)
            return cgroup_roots[i];
    }
    return NULL;
}

/* Find the directory of this process's own cgroup. */
static int own_cgroup(const char *root, char *path, size_t size)
{
    char text[4096];
    ssize_t got = read_text(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
    char *line, *end;

    if (got < 0)
        return (int)got;
    line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (!line)
        return -ENOENT;
    line = strchr(line, '/');
    end = line ? strchr(line, '\n') : NULL;
    if (!end)
        return -ENOENT;
    *end = '\0';
    if ((size_t)snprintf(path, size, "%s%s", root, line) >= size)
        return -ENAMETOOLONG;
    return 0;
}

static int open_cgroup_home(void)
{
    const char *root = find_cgroup_root();
    char path[4200], name[32];
    int parent, home;

    if (!root || own_cgroup(root, path, sizeof(path)))
        return -1;
    parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return -1;
    snprintf(name, sizeof(name), HOME_NAME, getpid());
    if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST) {
        close(parent);
        return -1;
    }
    home = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(parent);
    return home;
}

int process_home_init(struct process_home *home, bool use_cgroups)
{
    *home = (struct process_home){ .cgroup = -1, .next = 1 };
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return -errno;
    if (use_cgroups)
        home->cgroup = open_cgroup_home();
    return 0;
}

bool process_home_has_cgroups(const struct process_home *home)
{
    return home->cgroup >= 0;
}

/* Read a process's entry in /proc. Return false if it has ended. */
static bool read_stat(pid_t pid, struct process_stat *ret_stat)
{
    char path[32], text[1024], state;
    const char *rest;
    int parent;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return false;
    rest = strrchr(text,
                   ')'); /* the name in parentheses may contain any character */
    if (!rest || sscanf(rest + 1, " %c %d", &state, &parent) != 2)
        return false;
    *ret_stat = (struct process_stat){ state, parent };
    return true;
}

/* Climb once from a process towards the root. -1: an ancestor ended in the
 * meantime. */
static int climb_to(pid_t pid, pid_t root)
{
    struct process_stat stat;

    if (pid == root || !read_stat(pid, &stat) || stat.state == 'Z')
        return 0;
    while (stat.parent != root) {
        if (stat.parent <= 1)
            return 0;
        if (!read_stat(stat.parent, &stat))
            return -1;
    }
    return 1;
}

/* Return true if a process is alive and descends from the root. When a parent
 * ends, its children are reparented to the root, so another climb gets
 * further. */
static bool belongs(pid_t pid, pid_t root)
{
    int result = -1;

    for (int tries = 0; result < 0 && tries < 1000; tries++)
        result = climb_to(pid, root);
    return result == 1;
}

static void walk_proc(pid_t root, process_fn each, void *opaque)
{
    _Alignas(struct dirent64) char entries[4096];
    int dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t got;

    if (dir < 0)
        return;
    while ((got = getdents64(dir, entries, sizeof(entries))) > 0) {
        const struct dirent64 *entry;

        for (ssize_t at = 0; at < got; at += entry->d_reclen) {
            pid_t pid;

            entry = (const struct dirent64 *)(entries + at);
            pid = (pid_t)strtol(entry->d_name, NULL, 10);
            if (pid <= 1 || pid == getpid() || !belongs(pid, root))
                continue;
            if (!each(pid, opaque)) {
                close(dir);
                return;
            }
        }
    }
    close(dir);
}

/* Walk the pids in cgroup.procs, which is read in pieces because its length is
 * unbounded. */
static void walk_cgroup(int cgroup, process_fn each, void *opaque)
{
    int fd = openat(cgroup, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    char text[4096];
    ssize_t got;
    pid_t pid = 0;

    if (fd < 0)
        return;
    while ((got = read(fd, text, sizeof(text))) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                pid = pid * 10 + (text[i] - '0');
                continue;
            }
            if (pid > 1 && !each(pid, opaque)) {
                close(fd);
                return;
            }
            pid = 0;
        }
    }
    close(fd);
}

static void walk_set(const struct process_set *set, process_fn each,
                     void *opaque)
{
    if (set->cgroup >= 0)
        walk_cgroup(set->cgroup, each, opaque);
    else
        walk_proc(set->root, each, opaque);
}

/* Remove the cgroups of commands without remaining processes; the kernel
 * refuses to remove the others. */
static void sweep_home(const struct process_home *home)
{
    _Alignas(struct dirent64) char entries[4096];
    ssize_t got;

    lseek(home->cgroup, 0, SEEK_SET);
    while ((got = getdents64(home->cgroup, entries, sizeof(entries))) > 0) {
        const struct dirent64 *entry;

        for (ssize_t at = 0; at < got; at += entry->d_reclen) {
            entry = (const struct dirent64 *)(entries + at);
            if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
                unlinkat(home->cgroup, entry->d_name, AT_REMOVEDIR);
        }
    }
}

void process_home_release(struct process_home *home)
{
    char name[32];
    int parent;

    if (home->cgroup < 0)
        return;
    sweep_home(home);
    parent = openat(home->cgroup, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent >= 0) {
        snprintf(name, sizeof(name), HOME_NAME, getpid());
        unlinkat(parent, name, AT_REMOVEDIR);
        close(parent);
    }
    close(home->cgroup);
    home->cgroup = -1;
}

/* Create the command's cgroup. */
static int make_cgroup(struct process_home *home, int64_t id,
                       struct process_set *set)
{
    sweep_home(home);
    do {
        snprintf(set->name, sizeof(set->name), "%" PRId64 "-%lu", id,
                 home->next++);
    } while (mkdirat(home->cgroup, set->name, 0755) < 0 && errno == EEXIST);
    return openat(home->cgroup, set->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The shim is single-threaded and its child calls exec soon, so the raw system
 * call can replace fork(). */
static pid_t fork_into(int cgroup)
{
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)cgroup,
    };

    return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Return true if the kernel or a seccomp filter refuses cgroups for good. */
static bool is_final(int error)
{
    return error == ENOSYS || error == EPERM || error == EACCES ||
           error == EBUSY || error == EOPNOTSUPP ||
           error == ENOENT; /* removed by another process */
}

static pid_t fork_with_cgroup(struct process_home *home, int64_t id,
                              struct process_set *set)
{
    pid_t pid = -1;

    set->cgroup = make_cgroup(home, id, set);
    if (set->cgroup >= 0) {
        pid = fork_into(set->cgroup);
        if (pid >= 0)
            return pid;
        process_set_release(home, set);
    }
    if (!is_final(errno))
        return -errno;
    close(home->cgroup);
    home->cgroup = -1;
    return -ESTALE;
}

pid_t process_set_fork(struct process_home *home, int64_t id,
                       struct process_set *set)
{
    pid_t pid;

    *set = (struct process_set){ .cgroup = -1 };
    if (home->cgroup >= 0)
        return fork_with_cgroup(home, id, set);
    pid = fork();
    set->root = pid;
    return pid < 0 ? -errno : pid;
}

static bool signal_one(pid_t pid, void *opaque)
{
    const int *signal_number = opaque;

    kill(pid, *signal_number);
    return true;
}

void process_set_signal(const struct process_set *set, int signal_number)
{
    if (signal_number == SIGKILL && set->cgroup >= 0 &&
        write_text(set->cgroup, "cgroup.kill", "1") == 0)
        return;
    walk_set(set, signal_one, &signal_number);
}

static bool find_one(pid_t pid, void *opaque)
{
    bool *found = opaque;

    *found = true;
    return false;
}

bool process_set_is_empty(const struct process_set *set)
{
    char events[256];
    bool found = false;

    /* cgroup.events counts child cgroups too; cgroup.procs does not. */
    if (set->cgroup >= 0 &&
        read_text(set->cgroup, "cgroup.events", events, sizeof(events)) > 0)
        return strstr(events, "populated 0") != NULL;
    walk_set(set, find_one, &found);
    return !found;
}

/* A process and its ancestors, and whether another one was found. */
struct family {
    pid_t pids[FAMILY_MAX];
    size_t count;
    bool other;
};

static bool find_other(pid_t pid, void *opaque)
{
    struct family *family = opaque;

    for (size_t i = 0; i < family->count; i++) {
        if (family->pids[i] == pid)
            return true;
    }
    family->other = true;
    return false;
}

bool process_set_has_others(const struct process_set *set, pid_t pid)
{
    struct family family = { .count = 0 };
    struct process_stat stat = { .parent = pid };

    while (family.count < FAMILY_MAX && stat.parent > 1) {
        pid = family.pids[family.count++] = stat.parent;
        if (!read_stat(pid, &stat))
            break;
    }
    walk_set(set, find_other, &family);
    return family.other;
}

/* Read the path of a process's cgroup, from its name below the home on. Returns
 * NULL if it is elsewhere. */
static const char *read_cgroup(pid_t pid, char *text, size_t size)
{
    char path[32], home[64];
    const char *found;

    snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
    if (read_text(AT_FDCWD, path, text, size) <= 0)
        return NULL;
    snprintf(home, sizeof(home), "/" HOME_NAME "/", getpid());
    found = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    found = found ? strstr(found, home) : NULL;
    return found ? found + strlen(home) : NULL;
}

/* Return whether a process is in the set's cgroup or one below it. */
static bool is_in_cgroup(const struct process_set *set, pid_t pid)
{
    char text[4096];
    const char *name = read_cgroup(pid, text, sizeof(text));
    size_t len = strlen(set->name);

    return name && strncmp(name, set->name, len) == 0 &&
           strchr("/\n", name[len]);
}

int64_t process_home_find(const struct process_home *home, pid_t pid)
{
    char text[4096];
    const char *name = read_cgroup(pid, text, sizeof(text));
    int64_t id;

    return name && sscanf(name, "%" SCNd64 "-", &id) == 1 && id > 0 ? id : 0;
}

bool process_set_contains(const struct process_home *home,
                          const struct process_set *set, pid_t pid)
{
    return set->cgroup >= 0 ? is_in_cgroup(set, pid) : belongs(pid, set->root);
}

void process_set_release(struct process_home *home, struct process_set *set)
{
    int saved = errno;

    if (set->cgroup >= 0) {
        close(set->cgroup);
        unlinkat(home->cgroup, set->name, AT_REMOVEDIR);
    }
    set->cgroup = -1;
    errno = saved;
}
