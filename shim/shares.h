/* SPDX-License-Identifier: Apache-2.0
 *
 * shares - folders that are mounted over 9P.
 *
 * Each has a process, the pump (pump.h), which holds the port for as long as
 * the mount is there. It is of its own so that a mount that hangs, or a stream
 * of data, never holds up the shim. Another one, for a moment, calls mount(2):
 * that asks the file server, so the pump has to run by then; and it holds none
 * of the pump's ends, or the mount would hang when the pump dies.
 *
 * What comes of it is told through a pipe, whose end is the pump's end.
 *
 * Whoever is root in the guest can kill a pump. The mount then fails with
 * errors, the host is told, and its next "mount" message makes it anew.
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
    int status; /* the pump says how it goes, or has ended; -1: it has */
    bool mounted;
    bool again; /* there was a mount, which is to go first */
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
    SHARES_REFUSED,   /* it could not be mounted */
    SHARES_UNMOUNTED, /* it was mounted, and has lost its connection */
};

/* Begin to mount; shares_take_news() tells what comes of it. On failure false,
 * and the reason in error (size bytes at most). */
bool shares_mount(struct shares *shares, const struct guest_mount *mount,
                  char *error, size_t size);

/* Fill in SHARES_MAX poll entries at most. Returns how many. */
size_t shares_poll(const struct shares *shares, struct pollfd *fds);

/* What there is to tell of the share with this poll entry's fd, with a text
 * for it unless it is mounted. *ret_share is valid until the next mount. */
enum shares_news shares_take_news(struct shares *shares, int fd,
                                  const struct share **ret_share, char *text,
                                  size_t size);

#endif
