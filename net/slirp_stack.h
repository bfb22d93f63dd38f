/* SPDX-License-Identifier: Apache-2.0
 *
 * slirp_stack - libslirp: the guest's packets become sockets of ours.
 *
 * The guest's network is 10.0.2.0/24 with the gateway 10.0.2.2, and fec0::/64
 * with fec0::2, as in QEMU's own user networking.
 *
 * Threads: for one; slirp has global variables.
 */
#ifndef NET_SLIRP_STACK_H
#define NET_SLIRP_STACK_H

#include <glib.h>

#include "common/network_policy.h"
#include "net/shares.h"

/* Sockets, and all that this process has open. */
enum { SLIRP_STACK_FDS = SHARES_FILES };

struct slirp_stack;

typedef void (*slirp_stack_send)(const uint8_t *data, size_t length,
                                 void *opaque);

/* Have slirp's messages go to the log; once, before the first stack. */
void slirp_stack_log(void);

/* dns: the address that stands for a name server. advertises: it tells the
 * guest of the network unasked, now and then. Frames for the guest go to send.
 */
struct slirp_stack *slirp_stack_new(const uint8_t dns[4], bool advertises,
                                    slirp_stack_send send, void *opaque);
void slirp_stack_free(struct slirp_stack *stack);

/* A frame of the guest. */
void slirp_stack_input(struct slirp_stack *stack, const uint8_t *data,
                       size_t length);

/* How many sockets it has. */
unsigned slirp_stack_sockets(const struct slirp_stack *stack);

/* Append what is to be waited for to fds (of GPollFD), and shorten *timeout
 * (ms, -1 for ever). */
void slirp_stack_fill(struct slirp_stack *stack, GArray *fds, int *timeout);

/* After waiting. failed: poll(2) has failed. */
void slirp_stack_poll(struct slirp_stack *stack, GArray *fds, bool failed);

/* End the TCP connections whose other end is not to stay. Of the host's
 * loopback the peer is 127.0.0.1 (::1). */
typedef bool (*slirp_stack_stays)(const struct network_address *peer,
                                  unsigned port, void *opaque);
void slirp_stack_cut(struct slirp_stack *stack, slirp_stack_stays stays,
                     void *opaque);

#endif
