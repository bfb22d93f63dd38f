/* SPDX-License-Identifier: Apache-2.0
 *
 * secret_source - see secret_source.h.
 */
#include "agent/machine/secret_source.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/host_environ.h"

enum { COMMAND_MS = 20000, PAUSE_US = 1000 };

static void cut_line_ends(char *text)
{
    size_t length = strlen(text);

    while (length > 0 && strchr("\r\n", text[length - 1]))
        text[--length] = '\0';
}

/* Read until the end, or until this time (monotonic, us; 0: none). Return 0 or
 * -errno. */
static int read_all(int fd, char *room, size_t size, gint64 end)
{
    size_t used = 0;
    ssize_t n = 1;

    while (n > 0 && used < size - 1) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        gint64 left = end ? (end - g_get_monotonic_time()) / 1000 : 1000;

        if (left <= 0 || (end && poll(&ready, 1, (int)left) == 0))
            return -ETIMEDOUT;
        n = read(fd, room + used, size - 1 - used);
        if (n < 0 && errno != EINTR)
            return -errno;
        used += n > 0 ? (size_t)n : 0;
        n = n < 0 ? 1 : n;
    }
    room[used] = '\0';
    /* A NUL ends the text; what follows it is no part of a value. */
    return strlen(room) == used ? 0 : -EILSEQ;
}

/* ---- kinds --------------------------------------------------------------- */

static char *read_variable(const char *name, char *room, size_t size)
{
    const char *value = host_environ_given(name);

    if (!value)
        return g_strdup_printf("the variable %.64s is not set; set it, and "
                               "start the sandbox again",
                               name);
    g_strlcpy(room, value, size);
    return NULL;
}

static char *read_file(const char *path, char *room, size_t size)
{
    fd_auto int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
                                    O_NOCTTY);
    struct stat st;
    int rc = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;

    if (rc == 0 && !S_ISREG(st.st_mode))
        return g_strdup_printf("%s is not a regular file", path);
    if (rc == 0)
        rc = read_all(fd, room, size, 0);
    return rc == 0
               ? NULL
               : g_strdup_printf("cannot read %s: %s", path, g_strerror(-rc));
}

/* Return the problem of the command's end, NULL: none. */
static char *describe_end(int rc, int status)
{
    if (rc == -ETIMEDOUT)
        return g_strdup("its command did not end within 20 seconds");
    if (rc != 0)
        return g_strdup_printf("cannot read its command's output: %s",
                               g_strerror(-rc));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return g_strdup_printf("its command failed (status %d)",
                               WIFEXITED(status) ? WEXITSTATUS(status)
                                                 : 128 + WTERMSIG(status));
    return NULL;
}

static char *read_command(const char *line, char *room, size_t size)
{
    static const char *const more[] = { "HOME", "TERM", "XDG_RUNTIME_DIR",
                                        "XDG_CONFIG_HOME", NULL };
    const char *argv[] = { "/bin/sh", "-c", line, NULL };
    g_auto(GStrv) env = host_environ_new(more);
    gint64 end = g_get_monotonic_time() + COMMAND_MS * G_TIME_SPAN_MILLISECOND;
    g_autoptr(GError) error = NULL;
    int output, status = 0, rc;
    GPid pid;

    if (!g_spawn_async_with_pipes("/", (char **)argv, env,
                                  G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid,
                                  NULL, &output, NULL, &error))
        return g_strdup(error->message);
    rc = read_all(output, room, size, end);
    close(output);
    while (rc == 0 && waitpid(pid, &status, WNOHANG) == 0) {
        if (g_get_monotonic_time() < end)
            g_usleep(PAUSE_US);
        else
            rc = -ETIMEDOUT;
    }
    if (rc != 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    return describe_end(rc, status);
}

char *secret_source_read(const char *source, char *room, size_t size)
{
    const char *rest = strchr(source, ':') + 1;
    char *problem;

    if (g_str_has_prefix(source, "env:"))
        problem = read_variable(rest, room, size);
    else if (g_str_has_prefix(source, "file:"))
        problem = read_file(rest, room, size);
    else
        problem = read_command(rest, room, size);
    if (!problem)
        cut_line_ends(room);
    return problem;
}
