/* SPDX-License-Identifier: Apache-2.0
 *
 * inherited - see inherited.h.
 */
#include "common/inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool inherited_streams_fill(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) {
            dprintf(STDERR_FILENO,
                    "file descriptor %d is closed, and /dev/null cannot be "
                    "opened in its place: %s\n",
                    fd, strerror(errno));
            return false;
        }
    }
    return true;
}

bool inherited_signal_is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 &&
           !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
}
