/* SPDX-License-Identifier: Apache-2.0
 *
 * control - what the agent says to this process, and hears of it.
 *
 * JSON Lines on an inherited socket, in the shapes of message.h:
 *
 *     configure {network_policy, dns_server}   both may be missing: as it was;
 *                                              dns_server may be null
 *     status {}                                {"network_policy", "frames":{}}
 *
 * and to the agent:
 *
 *     event.refused {destination, protocol, port, count}
 *                              a destination of null stands for all that are
 *                              not told one by one
 *     event.limited {kind, limit, count}
 *                              a guest has reached its number of flows of a
 *                              kind (tcp dns_tcp udp dns icmp); once for each
 *                              until the next configure. Of TCP so many new
 *                              connections were dropped, of the others so many
 *                              flows, those idle the longest, were evicted
 */
#ifndef NET_CONTROL_H
#define NET_CONTROL_H

#include <glib.h>

#include "net/gateway.h"

struct control;

/* Takes fd. closed: the agent has ended. */
struct control *control_new(int fd, void (*closed)(void *opaque), void *opaque);
void control_free(struct control *control);

/* Once, before the loop runs. */
void control_attach(struct control *control, struct gateway *gateway);

/* For gateway_new(). control is a struct control. */
void control_has_event(void *control);

#endif
