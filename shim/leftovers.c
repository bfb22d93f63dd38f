/* SPDX-License-Identifier: Apache-2.0
 *
 * leftovers - see leftovers.h.
 */
#include "shim/leftovers.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void remove_at(struct leftovers *leftovers, size_t index)
{
    close(leftovers->fds[index]);
    leftovers->count--;
    memmove(&leftovers->fds[index], &leftovers->fds[index + 1],
            (leftovers->count - index) * sizeof(leftovers->fds[0]));
}

void leftovers_add(struct leftovers *leftovers, int fd)
{
    if (leftovers->count == LEFTOVERS_MAX)
        remove_at(leftovers, 0);
    leftovers->fds[leftovers->count++] = fd;
}

size_t leftovers_poll(const struct leftovers *leftovers, struct pollfd *fds)
{
    for (size_t i = 0; i < leftovers->count; i++)
        fds[i] = (struct pollfd){ leftovers->fds[i], POLLIN, 0 };
    return leftovers->count;
}

void leftovers_drain(struct leftovers *leftovers, const struct pollfd *fds,
                     size_t count)
{
    char waste[16384];

    /* Backwards, because a removal moves the entries after it. */
    for (size_t i = count; i-- > 0;) {
        ssize_t got;

        if (!fds[i].revents)
            continue;
        got = read(fds[i].fd, waste, sizeof(waste));
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            remove_at(leftovers, i);
    }
}
