/* SPDX-License-Identifier: Apache-2.0
 *
 * poller - waits for thousands of sockets: epoll(7) as one source of GLib's
 * loop.
 *
 * Threads: that of the default main context.
 */
#ifndef PROXY_POLLER_H
#define PROXY_POLLER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct poller;

/* A socket that is waited for, owned by the caller; zero at first but for ready
 * and opaque. */
struct watch {
    int fd;          /* borrowed; set by poller_watch() */
    uint32_t events; /* waited for */
    bool added;
    void (*ready)(uint32_t events, void *opaque);
    void *opaque;
};

/* Return NULL and error on failure. */
struct poller *poller_new(GError **error);
void poller_free(struct poller *poller);

/* Wait for these events (EPOLLIN, EPOLLOUT) of the socket. Errors and hang-ups
 * are always reported; without events only once. Return 0 or -errno. */
int poller_watch(struct poller *poller, struct watch *watch, int fd,
                 uint32_t events);

/* Stop; ready is not called any more. Call it before fd is closed. */
void poller_forget(struct poller *poller, struct watch *watch);

#endif
