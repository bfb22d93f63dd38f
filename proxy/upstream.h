/* SPDX-License-Identifier: Apache-2.0
 *
 * upstream - asks an upstream proxy for a connection to a name (CONNECT).
 *
 * Only the answer's head is read from the socket: the bytes after it stay there
 * for the next reader.
 */
#ifndef PROXY_UPSTREAM_H
#define PROXY_UPSTREAM_H

#include <glib.h>
#include <stdbool.h>

#include "proxy/poller.h"
#include "proxy/upstream_answer.h"

/* Until the answer's head is whole. */
enum { UPSTREAM_TIME = 30 * G_USEC_PER_SEC };

struct upstream_server {
    unsigned port;       /* 0: there is no such server */
    char *authorization; /* value of Proxy-Authorization; or NULL */
};

/* Clear the memory of the credentials, and free it. */
void upstream_server_clear(struct upstream_server *server);

/* Zero at first, but for poller, done and opaque. */
struct upstream {
    struct poller *poller; /* borrowed */
    struct watch watch;
    int fd; /* meaningful while it is watched */
    bool used;
    char *request; /* NULL: sent, or unused */
    size_t length, sent;
    struct upstream_answer answer;

    /* fd: the tunnel, taken over by the callee; or -1, and problem is the
     * reason. It may stop the upstream. */
    void (*done)(int fd, const char *problem, void *opaque);
    void *opaque;
};

/* Prepare the request. name: normalized. */
void upstream_prepare(struct upstream *upstream,
                      const struct upstream_server *server, const char *name,
                      unsigned port);

/* Send it. fd (taken) is connected to the server. done may be called from
 * within. */
void upstream_start(struct upstream *upstream, int fd);

/* Return why there is no connection yet, as the time limit is over; NULL: the
 * upstream is not used. Static. */
const char *upstream_describe_silence(const struct upstream *upstream);

/* Give up, and free its memory; done is not called. */
void upstream_stop(struct upstream *upstream);

#endif
