/* SPDX-License-Identifier: Apache-2.0
 *
 * leftovers - see leftovers.h.
 */
#include "shim/leftovers.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int pipes[LEFTOVERS_MAX]; /* oldest first */
static int pipe_count;

static void forget(int index)
{
    close(pipes[index]);
    pipe_count--;
    memmove(pipes + index, pipes + index + 1,
            (size_t)(pipe_count - index) * sizeof(pipes[0]));
}

void leftovers_add(int fd)
{
    if (fd < 0)
        return;
    if (pipe_count == LEFTOVERS_MAX)
        forget(0);
    pipes[pipe_count++] = fd;
}

int leftovers_poll(struct pollfd *polls)
{
    for (int i = 0; i < pipe_count; i++)
        polls[i] = (struct pollfd){ .fd = pipes[i], .events = POLLIN };
    return pipe_count;
}

void leftovers_drain(const struct pollfd *polls, int count)
{
    static char thrown_away[65536];

    for (int i = count - 1; i >= 0; i--) { /* from the end: forget() moves */
        ssize_t got;

        if (!polls[i].revents || i >= pipe_count || pipes[i] != polls[i].fd)
            continue;
        got = read(pipes[i], thrown_away, sizeof(thrown_away));
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            forget(i);
    }
}
