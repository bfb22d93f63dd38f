/* SPDX-License-Identifier: Apache-2.0
 *
 * process_tree - see process_tree.h.
 *
 * Each command has its own cgroup "cmd-<n>", never reused: processes that an
 * earlier command left in the background keep theirs. Empty ones are removed
 * when the next command begins.
 *
 * The walk of /proc reads a table of all processes. It is not atomic, so a
 * caller that wants all of them dead signals until the tree is empty.
 */
#include "shim/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shim/dir_scan.h"

enum { PROCESSES_MAX = 32768, PATH_SIZE = 512 };

struct process {
    int pid, parent;
    unsigned long long start; /* with pid, names a process for good */
    bool dead;                /* a zombie */
    bool ours;                /* below the shim */
    bool earlier;             /* belongs to an earlier command */
};

struct table {
    struct process of[PROCESSES_MAX];
    int count;
};

static char base[256]; /* "" without cgroups */
static unsigned number;
static struct table now, before;

static void cgroup_path(char *path, const char *file)
{
    snprintf(path, PATH_SIZE, "%s/cmd-%u/%s", base, number, file);
}

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;

    if (fd < 0)
        return -errno;
    if (write(fd, text, strlen(text)) < 0)
        error = -errno;
    close(fd);
    return error;
}

void process_tree_init(const char *cgroup)
{
    struct statfs fs;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!cgroup || strlen(cgroup) >= sizeof(base))
        return;
    if (mkdir(cgroup, 0755) < 0 && errno != EEXIST)
        return;
    if (statfs(cgroup, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
        strcpy(base, cgroup);
}

/* Fill in a process from /proc/<pid>/stat; its second field, the name in
 * parentheses, may hold anything. */
static bool read_process(int pid, struct process *ret_process)
{
    char path[64], text[1024], state, *rest;
    int parent;
    unsigned long long start;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (dir_scan_read_file(path, text, sizeof(text)) <= 0)
        return false;
    rest = strrchr(text, ')');
    if (!rest ||
        sscanf(rest + 1,
               " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
               "%*d %*d %*d %*d %llu",
               &state, &parent, &start) != 3)
        return false;
    *ret_process = (struct process){ .pid = pid,
                                     .parent = parent,
                                     .start = start,
                                     .dead = state == 'Z' || state == 'X' };
    return true;
}

static bool add_process(const char *name, void *opaque)
{
    struct table *table = opaque;
    int pid = atoi(name);

    if (pid > 0 && read_process(pid, &table->of[table->count]))
        table->count++;
    return table->count < PROCESSES_MAX;
}

static struct process *find_process(struct table *table, int pid)
{
    int low = 0, high = table->count;

    while (low < high) { /* /proc lists pids in rising order */
        int middle = (low + high) / 2;

        if (table->of[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->count && table->of[low].pid == pid ? &table->of[low]
                                                           : NULL;
}

/* Of a child whose parent is known: what it inherits. True on a change. */
static bool inherit(struct table *table, struct process *process)
{
    struct process *parent = find_process(table, process->parent);
    bool ours = process->parent == getpid() || (parent && parent->ours);
    bool earlier = process->earlier || (parent && parent->earlier);

    if (ours == process->ours && earlier == process->earlier)
        return false;
    process->ours = ours;
    process->earlier = earlier;
    return true;
}

static void mark_earlier(struct table *table)
{
    for (int i = 0; i < before.count; i++) {
        struct process *old = &before.of[i];
        struct process *process = find_process(table, old->pid);

        if (old->ours && process && process->start == old->start)
            process->earlier = true;
    }
}

static void read_table(struct table *table)
{
    bool changed;

    table->count = 0;
    dir_scan("/proc", add_process, table);
    if (table != &before)
        mark_earlier(table);
    do {
        changed = false;
        for (int i = 0; i < table->count; i++)
            changed |= inherit(table, &table->of[i]);
    } while (changed);
}

static bool remove_if_empty(const char *name, void *opaque)
{
    char path[PATH_SIZE];

    if (strncmp(name, "cmd-", 4) == 0) {
        snprintf(path, sizeof(path), "%.255s/%.200s", base, name);
        rmdir(path);
    }
    return true;
}

void process_tree_begin(void)
{
    char path[PATH_SIZE];

    if (!*base) {
        read_table(&before);
        return;
    }
    dir_scan(base, remove_if_empty, NULL);
    do {
        number++;
        cgroup_path(path, "");
    } while (mkdir(path, 0755) < 0 && errno == EEXIST);
}

int process_tree_add(pid_t pid)
{
    char path[PATH_SIZE], text[16];

    if (!*base)
        return 0;
    cgroup_path(path, "cgroup.procs");
    snprintf(text, sizeof(text), "%d", (int)pid);
    return write_file(path, text);
}

static void signal_cgroup(int signal)
{
    char path[PATH_SIZE];
    static char pids[256 * 1024];
    char *at = pids, *end;

    cgroup_path(path, "cgroup.kill");
    if (signal == SIGKILL && write_file(path, "1") == 0)
        return;
    cgroup_path(path, "cgroup.procs");
    if (dir_scan_read_file(path, pids, sizeof(pids)) < 0)
        return;
    for (long pid; (pid = strtol(at, &end, 10)) > 0; at = end)
        kill((pid_t)pid, signal);
}

static bool is_of_command(const struct process *process)
{
    return process->ours && !process->earlier && !process->dead;
}

void process_tree_signal(int signal)
{
    if (*base) {
        signal_cgroup(signal);
        return;
    }
    read_table(&now);
    for (int i = 0; i < now.count; i++) {
        if (is_of_command(&now.of[i]))
            kill(now.of[i].pid, signal);
    }
}

bool process_tree_is_empty(void)
{
    char path[PATH_SIZE], events[256];

    if (*base) {
        cgroup_path(path, "cgroup.events");
        return dir_scan_read_file(path, events, sizeof(events)) < 0 ||
               strstr(events, "populated 0") != NULL;
    }
    read_table(&now);
    for (int i = 0; i < now.count; i++) {
        if (is_of_command(&now.of[i]))
            return false;
    }
    return true;
}
