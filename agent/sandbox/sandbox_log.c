/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_log - see sandbox_log.h.
 */
#include "agent/sandbox/sandbox_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/sandbox/sandbox_store.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"

gboolean sandbox_log_open(int dir_fd, GError **error)
{
    fd_auto int fd = openat(
        dir_fd, SANDBOX_LOG,
        O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                SANDBOX_LOG ": cannot open it: %s", g_strerror(errno));
    return FALSE;
}

void sandbox_log_rotate(int dir_fd)
{
    g_autoptr(GError) error = NULL;
    struct stat st;

    if (fstat(STDERR_FILENO, &st) < 0 || st.st_size < SANDBOX_LOG_MAX)
        return;
    if (renameat(dir_fd, SANDBOX_LOG, dir_fd, SANDBOX_LOG_OLD) < 0 ||
        !sandbox_log_open(dir_fd, &error))
        log_warn(LOG_SESSION, "cannot rotate the log: %s",
                 error ? error->message : g_strerror(errno));
}
