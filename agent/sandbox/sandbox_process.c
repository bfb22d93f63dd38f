/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_process - see sandbox_process.h.
 */
#include "agent/sandbox/sandbox_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"

enum { DEPTH_MAX = 8 }; /* of the process tree */

/* Read /proc/PID/NAME: a new string, or NULL. */
static char *read_proc(pid_t pid, const char *name)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)pid, name);
    char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

/* Return the field of /proc/PID/stat that follows the program's name and state,
 * counted as in proc(5), from 4. */
static guint64 stat_field(const char *stat, int number)
{
    const char *at = strrchr(stat, ')');

    for (int i = 2; at && i < number; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

guint64 sandbox_process_start(pid_t pid)
{
    enum { STARTTIME = 22 };
    g_autofree char *stat = read_proc(pid, "stat");

    return stat ? stat_field(stat, STARTTIME) : 0;
}

int sandbox_process_open(json_t *run)
{
    pid_t pid = (pid_t)json_integer_value(json_object_get(run, "pid"));
    guint64 start = (guint64)json_integer_value(
        json_object_get(run, "pid_start"));
    fd_auto int fd = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

    if (fd < 0 || sandbox_process_start(pid) != start)
        return -1;
    return fd_steal(&fd);
}

/* ---- usage --------------------------------------------------------------- */

/* Return the number after "NAME: " in text. */
static gint64 number_after(const char *text, const char *name)
{
    const char *at = text ? strstr(text, name) : NULL;

    return at ? g_ascii_strtoll(at + strlen(name), NULL, 10) : 0;
}

static void add_process(pid_t pid, struct sandbox_usage *usage)
{
    enum { UTIME = 14, STIME = 15 };
    g_autofree char *stat = read_proc(pid, "stat");
    g_autofree char *status = read_proc(pid, "status");
    g_autofree char *io = read_proc(pid, "io");

    if (!stat)
        return;
    usage->processes++;
    usage->cpu_seconds += (double)(stat_field(stat, UTIME) +
                                   stat_field(stat, STIME)) /
                          (double)sysconf(_SC_CLK_TCK);
    usage->memory_bytes += number_after(status, "VmRSS:") * 1024;
    usage->read_bytes += number_after(io, "\nread_bytes: ");
    usage->written_bytes += number_after(io, "\nwrite_bytes: ");
}

static void add_tree(pid_t pid, int depth, struct sandbox_usage *usage)
{
    g_autofree char *name = g_strdup_printf("task/%d/children", (int)pid);
    g_autofree char *children = read_proc(pid, name);
    g_auto(GStrv) words = g_strsplit(children ? children : "", " ", -1);

    add_process(pid, usage);
    for (char **word = words; depth < DEPTH_MAX && *word; word++) {
        pid_t child = (pid_t)atoi(*word);

        if (child > 1)
            add_tree(child, depth + 1, usage);
    }
}

/* Add the process that an object like run.json names. */
static void add_named(json_t *object, struct sandbox_usage *usage)
{
    fd_auto int fd = sandbox_process_open(object);

    if (fd >= 0)
        add_tree((pid_t)json_integer_value(json_object_get(object, "pid")), 0,
                 usage);
}

void sandbox_process_usage(json_t *run, struct sandbox_usage *ret_usage)
{
    memset(ret_usage, 0, sizeof(*ret_usage));
    add_named(run, ret_usage);
    add_named(json_object_get(run, "holder"), ret_usage);
}
