/* SPDX-License-Identifier: Apache-2.0
 *
 * slirp_stack - libslirp: turns the guest's packets into sockets of this
 * process.
 *
 * The guest's network is 10.0.2.0/24 with the gateway 10.0.2.2, and fec0::/64
 * with fec0::2, as in QEMU's own user networking.
 *
 * Threads: one; slirp has global variables.
 */
#ifndef NET_SLIRP_STACK_H
#define NET_SLIRP_STACK_H

#include <glib.h>

#include "common/network_policy.h"
#include "net/shares.h"

/* Sockets and all other open files of this process. */
enum { SLIRP_STACK_FDS = SHARES_FILES };

struct slirp_stack;

typedef void (*slirp_stack_send)(const uint8_t *data, size_t length,
                                 void *opaque);

/* Redirect slirp's messages to the log; call it once, before the first
 * stack. */
void slirp_stack_log(void);

/* dns: the address that represents the name server. advertises: send
 * unsolicited router advertisements to the guest now and then. Frames for the
 * guest are passed to send.
 */
struct slirp_stack *slirp_stack_new(const uint8_t dns[4], bool advertises,
                                    slirp_stack_send send, void *opaque);
void slirp_stack_free(struct slirp_stack *stack);

struct slirp_stack_inbound {
    slirp_stack_send send;
    /* slirp has accepted a connection as fd (borrowed), or will close it. */
    void (*opened)(int fd, void *opaque);
    void (*closed)(int fd, void *opaque);
};

/* Make a stack that forwards connections from a listening socket (taken, also
 * on failure) to this port of 10.0.2.15, and lets the guest open none.
 *
 * libslirp accepts connections only from a socket that it has bound itself. It
 * binds one to any port of 127.0.0.1, in whose place the listener is put; in
 * fact nothing is bound, because confine() turns bind(2) and listen(2) into
 * calls that do nothing. NULL and error (ERROR_IO_ERROR) on failure. callbacks
 * is borrowed. */
struct slirp_stack *
slirp_stack_new_inbound(int listener, unsigned guest_port,
                        const struct slirp_stack_inbound *callbacks,
                        void *opaque, GError **error);

/* Return the listening socket of such a stack. */
int slirp_stack_listener(const struct slirp_stack *stack);

/* Handle a frame of the guest. */
void slirp_stack_input(struct slirp_stack *stack, const uint8_t *data,
                       size_t length);

/* Return the number of open sockets. */
unsigned slirp_stack_sockets(const struct slirp_stack *stack);

/* Append the fds to poll to fds (of GPollFD), and shorten *timeout (ms, -1:
 * infinite). */
void slirp_stack_fill(struct slirp_stack *stack, GArray *fds, int *timeout);

/* Call it after polling. failed: poll(2) has failed. */
void slirp_stack_poll(struct slirp_stack *stack, GArray *fds, bool failed);

/* End the TCP connections for whose peer stays() returns false. For the host's
 * loopback the peer is 127.0.0.1 (::1), for a name the address that stands for
 * it (name_connect.h). */
typedef bool (*slirp_stack_stays)(const struct network_address *peer,
                                  unsigned port, void *opaque);
void slirp_stack_cut(struct slirp_stack *stack, slirp_stack_stays stays,
                     void *opaque);

#endif
