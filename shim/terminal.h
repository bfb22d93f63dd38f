/* SPDX-License-Identifier: Apache-2.0
 *
 * terminal - a pseudo-terminal.
 */
#ifndef SHIM_TERMINAL_H
#define SHIM_TERMINAL_H

#include <sys/types.h>

/* Maximum data in a pty's buffers: 64 KiB on the way to the master, and a page
 * that waits to be read there (drivers/tty/tty_buffer.c, n_tty.c). */
#define TERMINAL_MOST_BUFFERED (64 * 1024 + 8 * 1024)

/* Open a terminal of that size. The master is non-blocking. Return 0 or
 * -errno. */
int terminal_open(unsigned rows, unsigned columns, int *ret_master,
                  int *ret_slave);

/* Return 0 or -errno. The foreground process group gets SIGWINCH. */
int terminal_resize(int master, unsigned rows, unsigned columns);

/* Return the foreground process group, or -errno if there is none. */
pid_t terminal_foreground(int master);

#endif
