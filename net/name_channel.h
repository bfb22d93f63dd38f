/* SPDX-License-Identifier: Apache-2.0
 *
 * name_channel - hands a guest's connections to the proxy.
 *
 * The channel is a SOCK_SEQPACKET socket. Each message is a JSON text with one
 * file descriptor (SCM_RIGHTS, unix(7)), the connection:
 *
 *     {"id":17,"name":"api.example.org","port":443,"check":"web"}
 *
 * id: rises by one. check: the protocols that may pass ("ask", "http", "web",
 * "port", "raw": NAME_ASK and so on, network_policy.h). For "ask", the proxy
 * holds the connection until a user decides.
 */
#ifndef NET_NAME_CHANNEL_H
#define NET_NAME_CHANNEL_H

#include <stdint.h>

#include "common/network_policy.h"

struct name_channel {
    int fd; /* -1: none */
    uint64_t id;
};

/* Make a connection to a name and hand its other end to the proxy. Return the
 * guest's end, non-blocking, which the caller owns; -ECONNREFUSED if there is
 * no proxy, or it does not keep up; another -errno. */
int name_channel_open(struct name_channel *channel, const char *name,
                      unsigned port, enum network_name_verdict check);

#endif
