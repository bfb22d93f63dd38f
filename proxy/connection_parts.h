/* SPDX-License-Identifier: Apache-2.0
 *
 * connection_parts - the struct of a connection, and how it ends; for the files
 * connection*.c only.
 */
#ifndef PROXY_CONNECTION_PARTS_H
#define PROXY_CONNECTION_PARTS_H

#include <arpa/inet.h>

#include "proxy/connection_report.h"
#include "proxy/dial.h"
#include "proxy/flow.h"
#include "proxy/intercepted.h"
#include "proxy/upstream.h"

/* Until a server is connected; until a guest has sent what must be checked as a
 * whole; until an end that is gone has left nothing; until a guest has read a
 * refusal. */
enum {
    CONNECT_TIME = 15 * G_USEC_PER_SEC,
    HEAD_TIME = 30 * G_USEC_PER_SEC,
    DRAIN_TIME = 30 * G_USEC_PER_SEC,
    REFUSAL_TIME = 2 * G_USEC_PER_SEC,
};

struct connection {
    struct poller *poller;
    struct connection_target target;
    connection_ended *ended;
    void *opaque;

    int guest_fd, server_fd; /* server_fd: -1 until it is connected */
    struct watch guest, server;
    struct flow up, down; /* to the server, to the guest */
    struct guest_check check;
    const struct interception *interception;
    struct intercepted *intercepted; /* NULL: the flows are used */
    char *no_server; /* the reason, until the guest can be told */
    struct dial dial;
    struct upstream upstream; /* after the dial, if it is used */
    bool dialed;

    bool over, reset;      /* reset: an end was not closed in order */
    bool refused, drained; /* drained: the guest's bytes are dropped */
    bool guest_gone, server_gone;
    char *reason, *allow;
    char address[INET6_ADDRSTRLEN];
    gint64 started;
    gint64 connect_until, head_until, drain_until; /* 0: no limit */
    guint64 heads; /* that were read when head_until was set */
};

/* Mark it as ended. reset: an end was not closed in order. The first reason
 * (NULL: none) is kept. */
void connection_parts_end(struct connection *connection, bool reset,
                          const char *reason);

/* Close the server's socket, if there is one. */
void connection_parts_close_server(struct connection *connection);

/* Drop the guest's bytes until it has read the last ones: closing the
 * connection at once would discard them. */
void connection_parts_drain(struct connection *connection);

#endif
