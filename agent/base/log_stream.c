/* SPDX-License-Identifier: Apache-2.0
 *
 * log_stream - see log_stream.h.
 *
 * O_NONBLOCK belongs to the open file description, which other processes may
 * share (a shell and its later children). A pipe can be reopened to get a
 * private description. A socket cannot, but a parent that passes a socket as
 * standard error keeps no copy for its own output.
 *
 * A full pipe takes a line of up to PIPE_BUF bytes whole or not at all.
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
