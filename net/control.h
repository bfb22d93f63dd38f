/* SPDX-License-Identifier: Apache-2.0
 *
 * control - the supervisor's control channel to this process.
 *
 * JSON Lines on an inherited socket, in the format of message.h:
 *
 *     configure {network_policy, dns_server}
 *                              either may be missing: unchanged; dns_server may
 *                              be null
 *     port.add {id, protocol, guest_port}
 *                              forward from the socket that was sent before, on
 *                              the channel of port_socket.h, to a port of the
 *                              guest. id: chosen by the supervisor
 *     port.remove {id}
 *     connections {}           {"connections":[]}: those to addresses that are
 *                              open, as in event.connection
 *     report_again {}          report refusals again that were reported
 *     status {}                {"network_policy", "frames":{}, "bytes":{}}
 *
 * and to the supervisor:
 *
 *     event.refused {destination, protocol, port, count, reason}
 *                              destination: an address, or a name, of which
 *                              protocol "dns" is a query; null stands for all
 *                              destinations that are not reported individually.
 *                              reason: only of a query: "not_listed",
 *                              "excepted" by deny:, or "above_wildcard", the
 *                              name whose names below are listed
 *     event.connection {id, address, port, reason, from_guest, to_guest,
 *     milliseconds}
 *                              a TCP connection to an address has ended
 *                              (tcp_log.h); reason: it was not made, or null
 *     event.connections_untold {count}
 *                              ends beyond 20 a second, with the next one
 *     event.connections_left {connections}
 *                              the process ends, and with it these, as in the
 *                              answer to connections
 *     event.limited {kind, limit, count}
 *                              a guest has reached its limit of flows of a kind
 *                              (tcp dns_tcp udp dns icmp inbound); once for
 * each kind until the next configure. count: for TCP, new connections that were
 * dropped; else flows, the longest idle ones, that were evicted
 */
#ifndef NET_CONTROL_H
#define NET_CONTROL_H

#include <glib.h>

#include "net/gateway.h"

struct control;

/* Takes fd and ports_fd (port_socket.h; -1: no ports). closed is called when
 * the supervisor has exited. */
struct control *control_new(int fd, int ports_fd, void (*closed)(void *opaque),
                            void *opaque);
void control_free(struct control *control);

/* Call it once, before the loop runs. */
void control_attach(struct control *control, struct gateway *gateway);

/* The loop has ended, and the gateway still is: report what is open. */
void control_tell_left(struct control *control);

/* A callback for gateway_new(); control is a struct control. */
void control_has_event(void *control);

#endif
