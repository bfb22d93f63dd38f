/* SPDX-License-Identifier: Apache-2.0
 *
 * poller - see poller.h.
 */
#include "proxy/poller.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdbool.h>
#include <sys/epoll.h>

#include "common/errors.h"
#include "common/fd.h"

enum { AT_ONCE = 64 };

struct poller {
    int fd;
    GSource *source;
    struct epoll_event found[AT_ONCE];
    int count, next; /* of found; those from next on wait to be reported */
};

static gboolean report(int fd, GIOCondition condition, gpointer data)
{
    struct poller *poller = data;

    poller->count = epoll_wait(fd, poller->found, AT_ONCE, 0);
    for (poller->next = 0; poller->next < poller->count;) {
        const struct epoll_event *event = &poller->found[poller->next++];
        struct watch *watch = event->data.ptr;

        if (watch)
            watch->ready(event->events, watch->opaque);
    }
    return G_SOURCE_CONTINUE;
}

struct poller *poller_new(GError **error)
{
    struct poller *poller = g_new0(struct poller, 1);

    poller->fd = epoll_create1(EPOLL_CLOEXEC);
    if (poller->fd < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "cannot wait for sockets: %s", g_strerror(errno));
        g_free(poller);
        return NULL;
    }
    poller->source = g_unix_fd_source_new(poller->fd, G_IO_IN);
    /* Otherwise GLib removes and adds the source around each report, and wakes
     * its loop up both times. */
    g_source_set_can_recurse(poller->source, TRUE);
    g_source_set_callback(poller->source, (GSourceFunc)(void (*)(void))report,
                          poller, NULL);
    g_source_attach(poller->source, NULL);
    return poller;
}

void poller_free(struct poller *poller)
{
    if (!poller)
        return;
    g_source_destroy(poller->source);
    g_source_unref(poller->source);
    fd_close(&poller->fd);
    g_free(poller);
}

int poller_watch(struct poller *poller, struct watch *watch, int fd,
                 uint32_t events)
{
    struct epoll_event event = { .data.ptr = watch };

    /* The kernel would report a hang-up again and again. */
    event.events = events ? events : (uint32_t)EPOLLET;
    if (watch->added && watch->events == event.events)
        return 0;
    if (epoll_ctl(poller->fd, watch->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd,
                  &event) < 0)
        return -errno;
    watch->fd = fd;
    watch->events = event.events;
    watch->added = true;
    return 0;
}

void poller_forget(struct poller *poller, struct watch *watch)
{
    struct epoll_event unused = { 0 };

    if (!watch->added)
        return;
    epoll_ctl(poller->fd, EPOLL_CTL_DEL, watch->fd, &unused);
    watch->added = false;
    for (int i = poller->next; i < poller->count; i++) {
        if (poller->found[i].data.ptr == watch)
            poller->found[i].data.ptr = NULL;
    }
}
