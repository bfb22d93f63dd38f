/* SPDX-License-Identifier: Apache-2.0
 *
 * shares - folders mounted over virtio-fs or 9P.
 *
 * The host plugs a share's device in while the guest runs, so a mount waits for
 * it, in a process of its own: neither a missing device nor a hung file server
 * can block the shim. Other processes unmount, and refresh names. Results
 * arrive through pipes.
 *
 * A 9P share keeps its process, the pump (pump.h), which holds the port as long
 * as the mount exists; the end of its pipe is the end of the pump. A second,
 * short-lived process calls mount(2): the call talks to the file server, so the
 * pump must already run; and the process holds none of the pump's ends,
 * otherwise the mount would hang when the pump dies.
 *
 * Guest root can kill a pump. The mount then fails with errors, the host is
 * notified, and its next "mount" message mounts the share again.
 */
#ifndef SHIM_SHARES_H
#define SHIM_SHARES_H

#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/share.h"

#define SHARES_MAX GUEST_MAX_MOUNTS
#define SHARES_FDS (3 * SHARES_MAX)

struct shares {
    struct share list[SHARES_MAX];
    size_t count;
};

enum shares_news {
    SHARES_NONE,
    SHARES_MOUNTED,
    SHARES_REFUSED,   /* the mount failed */
    SHARES_UNMOUNTED, /* a mounted share has lost its connection */
    SHARES_LEFT,      /* unmounted on request; the share is forgotten */
    SHARES_KEPT,      /* the unmount failed */
    SHARES_REFRESHED,
    SHARES_STALE, /* the refresh failed */
};

/* Start to mount; shares_take_news() returns the result. On failure return
 * false with the reason in error (at most size bytes). */
bool shares_mount(struct shares *shares, const struct guest_mount *mount,
                  char *error, size_t size);

/* Start to unmount the share with this tag; force: even if it is in use.
 * shares_take_news() returns the result. On failure as shares_mount(). */
bool shares_unmount(struct shares *shares, const char *tag, bool force,
                    char *error, size_t size);

/* Start to look again at names of the share with this tag (names.h);
 * shares_take_news() reports the end. On failure as shares_mount(). */
bool shares_refresh(struct shares *shares, const char *tag, int64_t id,
                    bool unused, const json_t *names, char *error, size_t size);

/* Fill in at most SHARES_FDS poll entries. Return how many. */
size_t shares_poll(const struct shares *shares, struct pollfd *fds);

/* Read the news of the share with this poll entry's fd, with a text if it is
 * bad. *ret_share is a copy. */
enum shares_news shares_take_news(struct shares *shares, int fd,
                                  struct share *ret_share, char *text,
                                  size_t size);

#endif
