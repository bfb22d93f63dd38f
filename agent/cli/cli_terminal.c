/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_terminal - see cli_terminal.h.
 */
#include "agent/cli/cli_terminal.h"

#include <glib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/base/cli_text.h"

/* Lines on a narrower terminal wrap. */
enum { DEFAULT_WIDTH = 80, MIN_WIDTH = 40 };

bool cli_terminal_moves(int fd)
{
    return isatty(fd) && !cli_text_is_dumb();
}

unsigned cli_terminal_width(int fd)
{
    struct winsize size = { 0 };

    if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return DEFAULT_WIDTH;
    return size.ws_col;
}

unsigned cli_terminal_fit_width(int fd)
{
    return isatty(fd) ? MAX(cli_terminal_width(fd), (unsigned)MIN_WIDTH) : 0;
}
