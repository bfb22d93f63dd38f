/* SPDX-License-Identifier: Apache-2.0
 *
 * shares - folders mounted over 9P.
 *
 * Each share has a pump process (pump.h), which holds the port as long as the
 * mount exists. It is a separate process so that neither a hung mount nor the
 * data stream can block the shim. A second, short-lived process calls mount(2):
 * the call talks to the file server, so the pump must already run; and the
 * process holds none of the pump's ends, otherwise the mount would hang when
 * the pump dies.
 *
 * Results arrive through a pipe; its end of file means that the pump has ended.
 *
 * Guest root can kill a pump. The mount then fails with errors, the host is
 * notified, and its next "mount" message mounts the share again.
 */
#ifndef SHIM_SHARES_H
#define SHIM_SHARES_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "shim/guest.h"

#define SHARES_MAX     GUEST_MAX_MOUNTS
#define SHARES_MAX_TAG 64

struct share {
    int status; /* status pipe from the pump; -1: it has ended */
    bool mounted;
    bool again; /* an old mount must be removed first */
    bool read_only;
    char tag[SHARES_MAX_TAG + 1];
    char path[GUEST_MAX_PATH];
    char aname[GUEST_MAX_PATH];
};

struct shares {
    struct share list[SHARES_MAX];
    size_t count;
};

enum shares_news {
    SHARES_NONE,
    SHARES_MOUNTED,
    SHARES_REFUSED,   /* the mount failed */
    SHARES_UNMOUNTED, /* a mounted share has lost its connection */
};

/* Start to mount; shares_take_news() returns the result. On failure return
 * false with the reason in error (at most size bytes). */
bool shares_mount(struct shares *shares, const struct guest_mount *mount,
                  char *error, size_t size);

/* Fill in at most SHARES_MAX poll entries. Return how many. */
size_t shares_poll(const struct shares *shares, struct pollfd *fds);

/* Read the news of the share with this poll entry's fd, with a text unless it
 * was mounted. *ret_share is valid until the next mount. */
enum shares_news shares_take_news(struct shares *shares, int fd,
                                  const struct share **ret_share, char *text,
                                  size_t size);

#endif
