/* SPDX-License-Identifier: Apache-2.0
 *
 * text_diff - see text_diff.h.
 *
 * diff reads both texts from memory-backed files, so no temporary file has to
 * be removed.
 */
#include <config.h>

#include "agent/base/text_diff.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/host_environ.h"
#include "common/host_program.h"

/* fd numbers in the diff process. */
enum { BEFORE_FD = 3, AFTER_FD = 4 };

/* Exit status of diff(1): 0 equal, 1 different, 2 trouble. */
enum { DIFF_DIFFERENT = 1 };

bool text_diff_is_text(const void *data, gsize len)
{
    return !data || !memchr(data, '\0', len);
}

static gboolean fail(GError **error, const char *what, int number)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "%s: %s", what,
                g_strerror(number));
    return FALSE;
}

/* Create a memory-backed file, positioned at its start. Return an fd, or -1 and
 * error. */
static int make_file(const struct text_side *side, GError **error)
{
    fd_auto int fd = memfd_create("stepback-diff", MFD_CLOEXEC);
    int rc = fd < 0 ? -errno : fd_write_all(fd, side->data, side->len);

    if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
        rc = -errno;
    if (rc == 0)
        return fd_steal(&fd);
    fail(error, "cannot create a memory-backed file for diff(1)", -rc);
    return -1;
}

static gboolean start(const struct text_side *before,
                      const struct text_side *after, int *ret_out,
                      GPid *ret_pid, GError **error)
{
    fd_auto int before_fd = make_file(before, error);
    fd_auto int after_fd = before_fd < 0 ? -1 : make_file(after, error);
    g_autofree char *program = host_program_find("diff");
    const char *const argv[] = { program,      "-a",          "-u",
                                 "--label",    before->label, "--label",
                                 after->label, "--",          "/dev/fd/3",
                                 "/dev/fd/4",  NULL };
    const int from[] = { before_fd, after_fd }, to[] = { BEFORE_FD, AFTER_FD };
    g_auto(GStrv) env = host_environ_new(NULL);
    g_autoptr(GError) cause = NULL;

    if (after_fd < 0)
        return FALSE;
    if (!program) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                            "diff(1): not installed; install it with: apt-get "
                            "install diffutils");
        return FALSE;
    }
    if (g_spawn_async_with_pipes_and_fds(
            "/", argv, (const char *const *)env, G_SPAWN_DO_NOT_REAP_CHILD,
            NULL, NULL, -1, -1, STDERR_FILENO, from, to, G_N_ELEMENTS(from),
            ret_pid, NULL, ret_out, NULL, &cause))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "cannot run diff(1): %s",
                cause->message);
    return FALSE;
}

static int read_all(int fd, GString *text)
{
    char chunk[16384];

    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return 0;
        g_string_append_len(text, chunk, MAX(n, 0));
    }
}

char *text_diff(const struct text_side *before, const struct text_side *after,
                gsize *ret_len, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    fd_auto int out = -1;
    int status = 0, rc;
    GPid pid;

    if (!start(before, after, &out, &pid, error))
        return NULL;
    rc = read_all(out, text);
    fd_close(&out);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    g_spawn_close_pid(pid);
    if (rc == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) > DIFF_DIFFERENT))
        rc = -EIO;
    if (rc < 0) {
        fail(error, "diff(1)", -rc);
        return NULL;
    }
    *ret_len = text->len;
    return g_string_free(g_steal_pointer(&text), FALSE);
}
