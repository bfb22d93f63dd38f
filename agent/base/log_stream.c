/* SPDX-License-Identifier: Apache-2.0
 *
 * log_stream - see log_stream.h.
 *
 * Whether a write waits is a property of the open file, which others may share:
 * a shell, and what it runs after us. A pipe can be opened anew, for us alone.
 * A socket cannot; but who gives a program one as its standard error keeps no
 * copy for himself.
 *
 * A line goes into a full pipe as a whole or not at all, if it is not longer
 * than PIPE_BUF.
 */
#include "agent/base/log_stream.h"

#include <fcntl.h>
#include <glib-unix.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

void log_stream_never_wait(void)
{
    struct stat st;

    if (fstat(STDERR_FILENO, &st) < 0)
        return;
    if (S_ISFIFO(st.st_mode)) {
        fd_auto int fd = open("/proc/self/fd/2",
                              O_WRONLY | O_NONBLOCK | O_CLOEXEC);

        if (fd >= 0)
            dup2(fd, STDERR_FILENO);
    } else if (S_ISSOCK(st.st_mode)) {
        g_unix_set_fd_nonblocking(STDERR_FILENO, TRUE, NULL);
    }
}
