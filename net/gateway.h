/* SPDX-License-Identifier: Apache-2.0
 *
 * gateway - connects a guest to the outside.
 *
 *                                                +- slirp_stack: TCP
 *     QEMU === stream - frame_filter - dns_alias -+           === sockets
 *                 |              |               +- flows: UDP, echo
 *                 |              +- names: queries, connections to names
 *                 +- inbound: published ports
 *
 * No data of the guest is read before the first gateway_configure().
 *
 * Threads: one.
 */
#ifndef NET_GATEWAY_H
#define NET_GATEWAY_H

#include <glib.h>
#include <jansson.h>

#include "common/network_policy.h"
#include "net/inbound.h"

struct gateway;

/* Called when gateway_take_event() has an event. */
typedef void (*gateway_has_event)(void *opaque);

/* Takes fd, QEMU's stream, and proxy, the channel of name_channel.h (-1: none).
 * files: the limit of open files of this process. NULL and error
 * (ERROR_IO_ERROR) on failure. */
struct gateway *gateway_new(int fd, int proxy, unsigned files,
                            gateway_has_event has_event, void *opaque,
                            GError **error);
void gateway_free(struct gateway *gateway);

/* Apply this policy (copied) from now on, to existing connections, too. dns:
 * the host's name server, or NULL if there is none. */
void gateway_configure(struct gateway *gateway,
                       const struct network_policy *policy,
                       const uint8_t dns[4]);

/* Report refusals again that were reported under this policy. */
void gateway_report_again(struct gateway *gateway);

/* Published ports, as in inbound.h. */
struct inbound *gateway_inbound(struct gateway *gateway);

const struct network_policy *gateway_policy(const struct gateway *gateway);

/* Return the payload of the next event of control.h and its type, or NULL. */
json_t *gateway_take_event(struct gateway *gateway, const char **ret_type);

/* Return {"from_guest","to_guest","dropped","refused"}: numbers of frames. */
json_t *gateway_count(const struct gateway *gateway);

/* Return {"from_guest","to_guest"}: bytes of the frames that passed. */
json_t *gateway_count_bytes(const struct gateway *gateway);

/* Like slirp_stack_fill() and slirp_stack_poll(). gateway_poll() returns 0 or
 * -errno as in stream.h. */
void gateway_fill(struct gateway *gateway, GArray *fds, int *timeout);
int gateway_poll(struct gateway *gateway, GArray *fds, bool failed);

#endif
