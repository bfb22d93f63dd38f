/* SPDX-License-Identifier: Apache-2.0
 *
 * flows - the guest's datagrams and echo requests, limited by kind.
 *
 * libslirp keeps the socket of a UDP flow for four minutes after its last
 * datagram, and that of an echo request as long while waiting for a reply, and
 * has no call to close one. So each flow has its own slirp instance, which can
 * be freed. A flow is identified by its source, as in slirp: all datagrams from
 * one address and port of the guest, to any destination; or one echo request. A
 * new flow beyond the limit evicts the flow of its kind that was idle the
 * longest, in both directions.
 *
 * Threads: one.
 */
#ifndef NET_FLOWS_H
#define NET_FLOWS_H

#include <glib.h>

#include "net/frame.h"
#include "net/shares.h"
#include "net/slirp_stack.h"

struct flows;

/* dns and send as for slirp_stack_new(). */
struct flows *flows_new(const uint8_t dns[4], slirp_stack_send send,
                        void *opaque);
void flows_free(struct flows *flows);

/* Send a datagram or an echo request of the guest, as one of at most limit
 * flows of this kind. Return true if another flow was evicted. */
bool flows_input(struct flows *flows, enum share kind, unsigned limit,
                 const struct frame *frame);

/* Like slirp_stack_fill() and slirp_stack_poll(). */
void flows_fill(struct flows *flows, GArray *fds, int *timeout);
void flows_poll(struct flows *flows, GArray *fds, bool failed);

#endif
