/* SPDX-License-Identifier: Apache-2.0
 *
 * intercepted - a connection whose HTTP requests are judged.
 *
 *     HELLO    the guest's ClientHello, which guest_check.h has judged, is
 * read; the guest then waits CONNECT  the server is being connected SERVER TLS
 * with the server, which is offered the guest's protocols; its certificate and
 * name are checked LEAF     the supervisor issues a certificate for the name
 *     GUEST    TLS with the guest, with the protocol that the server has chosen
 *     RELAY    relay_pump.h
 *
 * No byte of a request or a response passes before RELAY. Both ends speak the
 * same version of HTTP. Without TLS, CONNECT and RELAY are all. Before RELAY, a
 * failure ends the guest's handshake with an alert.
 */
#ifndef PROXY_INTERCEPTED_H
#define PROXY_INTERCEPTED_H

#include <glib.h>

#include "common/network_policy.h"
#include "proxy/http_relay.h"
#include "proxy/leaves.h"

/* A request of the connection id to a name and port; borrowed. */
struct intercepted_request {
    gint64 id;
    const char *name;
    unsigned port;
    const struct http_exchange *exchange;
};

/* Shared by all connections; borrowed. */
struct interception {
    SSL_CTX *to_servers; /* NULL: no authorities are known */
    SSL_CTX *to_guests;
    struct leaves *leaves;
    const struct network_policy *policy; /* the current one */
    struct secrets *secrets;             /* NULL: none */
    void (*exchanged)(const struct intercepted_request *request, void *opaque);
    void *opaque;
};

struct intercepted;

enum intercepted_status {
    INTERCEPTED_RUNS,
    INTERCEPTED_DONE,   /* both ends have everything */
    INTERCEPTED_ENDED,  /* the guest has an alert, or an answer; see reason */
    INTERCEPTED_BROKEN, /* an end has failed; reason may be NULL */
};

/* guest_fd and setup are borrowed. bytes: those that were read from the guest.
 * name: normalized. Return NULL without memory. */
struct intercepted *intercepted_new(const struct interception *setup, gint64 id,
                                    const char *name, unsigned port,
                                    int guest_fd, bool tls, const char *bytes,
                                    size_t length);
void intercepted_free(struct intercepted *intercepted);

/* The server is connected; fd is borrowed. intercepted_run() follows. */
void intercepted_connect(struct intercepted *intercepted, int server_fd);

/* Go on as far as possible: after events, and when the leaf may be there. Call
 * it again until it returns another status than INTERCEPTED_RUNS. */
enum intercepted_status intercepted_run(struct intercepted *intercepted);

/* The guest's end is gone: nothing can be written to it. */
void intercepted_lose_guest(struct intercepted *intercepted);

/* Return the events of an end's socket to wait for. */
uint32_t intercepted_events(const struct intercepted *intercepted,
                            enum http_side side);

/* End it, as no server is connected. */
enum intercepted_status intercepted_fail(struct intercepted *intercepted,
                                         const char *reason);

/* Return the time limit of a handshake, of the head of a request or of the end
 * (monotonic clock, microseconds), or 0. intercepted_expire() ends it. */
gint64 intercepted_until(const struct intercepted *intercepted);
enum intercepted_status intercepted_expire(struct intercepted *intercepted);

/* Return whether the policy, which has changed, still allows the requests that
 * run. */
bool intercepted_is_allowed(const struct intercepted *intercepted);

/* Pass no more bytes. The last requests are reported from within. */
void intercepted_stop(struct intercepted *intercepted);

/* Of the end. refused: by the policy, or as the server cannot be trusted. The
 * texts are borrowed; NULL: none. */
struct intercepted_end {
    bool refused;
    const char *reason, *allow;
};
struct intercepted_end
intercepted_get_end(const struct intercepted *intercepted);

/* Bytes that were written to an end's socket. */
uint64_t intercepted_sent(const struct intercepted *intercepted,
                          enum http_side side);

#endif
