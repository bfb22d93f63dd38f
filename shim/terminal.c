/* SPDX-License-Identifier: Apache-2.0
 *
 * terminal - see terminal.h.
 */
#include "shim/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

int terminal_open(unsigned rows, unsigned columns, int *ret_master,
                  int *ret_slave)
{
    int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    int unlock = 0, error, slave;

    if (master < 0)
        return -errno;
    if (ioctl(master, TIOCSPTLCK, &unlock) == 0) {
        /* By the master, not by name: /dev/pts may belong to another
         * instance. */
        slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave >= 0) {
            terminal_resize(master, rows, columns);
            *ret_master = master;
            *ret_slave = slave;
            return 0;
        }
    }
    error = errno;
    close(master);
    return -error;
}

int terminal_resize(int master, unsigned rows, unsigned columns)
{
    struct winsize size = { .ws_row = (unsigned short)rows,
                            .ws_col = (unsigned short)columns };

    return ioctl(master, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

pid_t terminal_foreground(int master)
{
    pid_t group = tcgetpgrp(master);

    return group < 0 ? -errno : group;
}
