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
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/host_environ.h"

enum { OUTPUT_MAX = 64 * 1024, PAUSE_US = 1000 };

static void cut_line_ends(char *text)
{
    size_t length = strlen(text);

    while (length > 0 && strchr("\r\n", text[length - 1]))
        text[--length] = '\0';
}

/* Wait for bytes until this time (monotonic, us). */
static bool wait_for(int fd, gint64 end)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    gint64 left;

    while ((left = (end - g_get_monotonic_time()) / 1000) > 0) {
        int n = poll(&ready, 1, (int)MIN(left, G_MAXINT));

        if (n != 0 && (n > 0 || errno != EINTR))
            return true;
    }
    return false;
}

/* Read until the end, or until this time. What exceeds the room is discarded.
 * Return 0 or -errno. */
static int read_all(int fd, char *room, size_t size, gint64 end)
{
    char rest[512];
    size_t used = 0, total = 0;
    ssize_t n;
    int rc = 0;

    do {
        if (!wait_for(fd, end)) {
            rc = -ETIMEDOUT;
            break;
        }
        n = used < size - 1 ? read(fd, room + used, size - 1 - used)
                            : read(fd, rest, sizeof(rest));
        if (n < 0 && errno != EINTR)
            rc = -errno;
        if (n > 0) {
            total += (size_t)n;
            used = MIN(total, size - 1);
        }
        if (total > OUTPUT_MAX)
            rc = -EFBIG;
    } while (n != 0 && rc == 0);
    explicit_bzero(rest, sizeof(rest));
    room[used] = '\0';
    /* A NUL ends the text; what follows it is no part of a value. */
    return rc == 0 && strlen(room) != used ? -EILSEQ : rc;
}

/* Return the problem: a new string. object: whose it is. */
static char *describe_read(const char *object, int rc)
{
    return g_strdup_printf("cannot read %s: %s", object,
                           rc == -EFBIG    ? "it has more than 64 KiB"
                           : rc == -EILSEQ ? "there is a NUL byte in it"
                                           : g_strerror(-rc));
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

static char *read_file(const char *path, char *room, size_t size, gint64 end)
{
    fd_auto int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
                                    O_NOCTTY);
    struct stat st;
    int rc = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;

    if (rc == 0 && !S_ISREG(st.st_mode))
        return g_strdup_printf("%s is not a regular file", path);
    if (rc == 0)
        rc = read_all(fd, room, size, end);
    return rc == 0 ? NULL : describe_read(path, rc);
}

/* In the child, before exec: what it starts belongs to its group, and it ends
 * with this process. parent: a pid_t. */
static void prepare_exec(gpointer parent)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != *(pid_t *)parent)
        _exit(126);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
}

/* Return the problem of the command's end, NULL: none. */
static char *describe_end(int rc, int status)
{
    if (rc == -ETIMEDOUT)
        return g_strdup("its command did not end within 30 seconds, which all "
                        "secrets have together");
    if (rc != 0)
        return describe_read("its command's output", rc);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return g_strdup_printf("its command failed (status %d); run it in a "
                               "shell to see why",
                               WIFEXITED(status) ? WEXITSTATUS(status)
                                                 : 128 + WTERMSIG(status));
    return NULL;
}

/* Wait for the command's end. Return 0, or -ETIMEDOUT; it still runs then. */
static int wait_for_end(pid_t pid, gint64 end, int *ret_status)
{
    while (waitpid(pid, ret_status, WNOHANG) == 0) {
        if (g_get_monotonic_time() >= end)
            return -ETIMEDOUT;
        g_usleep(PAUSE_US);
    }
    return 0;
}

/* Its messages could have the value, so that they are not shown. */
static char *read_command(const char *line, char *room, size_t size, gint64 end)
{
    static const char *const more[] = { "HOME", "TERM", "XDG_RUNTIME_DIR",
                                        "XDG_CONFIG_HOME", NULL };
    const char *argv[] = { "/bin/sh", "-c", line, NULL };
    g_auto(GStrv) env = host_environ_new(more);
    g_autoptr(GError) error = NULL;
    pid_t self = getpid();
    int output, status = 0, rc;
    GPid pid;

    if (!g_spawn_async_with_pipes(
            "/", (char **)argv, env,
            G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDERR_TO_DEV_NULL,
            prepare_exec, &self, &pid, NULL, &output, NULL, &error))
        return g_strdup(error->message);
    rc = read_all(output, room, size, end);
    close(output);
    if (rc == 0)
        rc = wait_for_end(pid, end, &status);
    if (rc != 0) {
        kill(-pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    return describe_end(rc, status);
}

char *secret_source_read(const char *source, char *room, size_t size,
                         gint64 end)
{
    const char *rest = strchr(source, ':') + 1;
    char *problem;

    if (g_str_has_prefix(source, "env:"))
        problem = read_variable(rest, room, size);
    else if (g_str_has_prefix(source, "file:"))
        problem = read_file(rest, room, size, end);
    else
        problem = read_command(rest, room, size, end);
    if (!problem)
        cut_line_ends(room);
    return problem;
}
