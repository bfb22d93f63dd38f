/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_rig - see p9_client.h: a daemon for tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interceptor/sys/sys.h"
#include "tests/lib/p9_client.h"

enum { START_MS = 20000 };

const char *p9_daemon_path(void)
{
    const char *path = g_getenv("STEPBACK_9PD");

    return path ? path : "./stepback-9pd";
}

struct p9_rig *p9_rig_new(void)
{
    struct p9_rig *rig = g_new0(struct p9_rig, 1);
    g_autofree char *base = g_build_filename(g_get_tmp_dir(),
                                             "stepback-9p-XXXXXX", NULL);

    rig->base = g_strdup(g_mkdtemp(base));
    g_assert_nonnull(rig->base);
    rig->share = g_build_filename(rig->base, "share", NULL);
    rig->undo_dir = g_build_filename(rig->base, "undo", NULL);
    rig->socket = g_build_filename(rig->base, "9p", NULL);
    rig->control = g_build_filename(rig->base, "control", NULL);
    g_assert_cmpint(g_mkdir(rig->share, 0755), ==, 0);
    return rig;
}

static void wait_ready(struct p9_rig *rig)
{
    int64_t end = g_get_monotonic_time() + START_MS * 1000;
    struct p9_client *client;
    int status;

    while (!(client = p9_client_open(rig->socket))) {
        if (waitpid(rig->pid, &status, WNOHANG) == rig->pid)
            g_error("the daemon ended at once: status %#x", status);
        if (g_get_monotonic_time() > end)
            g_error("the daemon does not listen");
        g_usleep(2000);
    }
    /* The daemon listens before it serves. */
    g_assert_cmpint(p9_version(client, 8192, P9_VERSION, NULL, NULL), ==, 0);
    p9_client_free(client);
}

void p9_rig_start(struct p9_rig *rig, ...)
{
    g_autoptr(GPtrArray) arguments = g_ptr_array_new_with_free_func(g_free);
    const char *argument;
    va_list args;

    g_ptr_array_add(arguments, g_strdup(p9_daemon_path()));
    g_ptr_array_add(arguments, g_strdup_printf("--shared-dir=%s", rig->share));
    g_ptr_array_add(arguments, g_strdup_printf("--undo-dir=%s", rig->undo_dir));
    g_ptr_array_add(arguments,
                    g_strdup_printf("--socket-path=%s", rig->socket));
    g_ptr_array_add(arguments,
                    g_strdup_printf("--interceptor-socket=%s", rig->control));
    g_ptr_array_add(arguments, g_strdup("--log-level=error"));
    va_start(args, rig);
    while ((argument = va_arg(args, const char *)))
        g_ptr_array_add(arguments, g_strdup(argument));
    va_end(args);
    g_ptr_array_add(arguments, NULL);
    rig->pid = fork();
    if (rig->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(p9_daemon_path(), (char **)arguments->pdata);
        _exit(127);
    }
    wait_ready(rig);
}

void p9_rig_stop(struct p9_rig *rig)
{
    int status;

    if (rig->pid == 0)
        return;
    kill(rig->pid, SIGTERM);
    g_assert_cmpint(waitpid(rig->pid, &status, 0), ==, rig->pid);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    rig->pid = 0;
}

void p9_rig_kill(struct p9_rig *rig)
{
    kill(rig->pid, SIGKILL);
    g_assert_cmpint(waitpid(rig->pid, NULL, 0), ==, rig->pid);
    rig->pid = 0;
}

void p9_rig_free(struct p9_rig *rig)
{
    p9_rig_stop(rig);
    sys_remove_tree(AT_FDCWD, rig->base);
    g_free(rig->base);
    g_free(rig->share);
    g_free(rig->undo_dir);
    g_free(rig->socket);
    g_free(rig->control);
    g_free(rig);
}

char *p9_rig_path(struct p9_rig *rig, const char *name)
{
    return g_build_filename(rig->share, name, NULL);
}

size_t p9_rig_memory(struct p9_rig *rig)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/statm", (int)rig->pid);
    g_autofree char *text = NULL;
    unsigned long size, resident;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpint(sscanf(text, "%lu %lu", &size, &resident), ==, 2);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}
