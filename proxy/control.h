/* SPDX-License-Identifier: Apache-2.0
 *
 * control - the supervisor's control channel to the proxy.
 *
 * JSON Lines on an inherited socket, in the format of message.h:
 *
 *     configure {network_policy, secrets, upstreams}
 *                              its addresses may belong to a name although they
 *                              are not public (address_rules.h), and its rules
 *                              judge intercepted requests; secrets: a list
 *                              (secrets.h), which replaces the last one;
 *                              absent: unchanged; upstreams: a list of
 *                              {port, authorization} or null, two at most;
 *                              authorization: a field's value or null; absent:
 *                              unchanged
 *     resolved {id, addresses, error, upstream}
 *                              answers event.resolve: a list of texts; error: a
 *                              text or null; upstream: absent, or a position in
 *                              upstreams, whose addresses these are
 *     certificate {name, chain, key, error}
 *                              answers event.certificate: PEM texts, the leaf
 *                              first in chain; error: a text or null
 *     decide {id, name, port, allow, reason, seconds}
 *                              answers event.ask; of a refusal: reason: a text
 *                              or absent; seconds: how long the name and port
 *                              are refused without a question (absent: 60).
 *                              {"decided"}: false if the question was over
 *     connections {}           {"connections":[]}: the open ones, as in
 *                              event.connection
 *     end {}                   the guest has ended: close the connections. The
 *                              answer is that of connections; before it come
 *                              events of requests that have no response, and
 *                              the numbers of what is untold by then
 *     status {}                {"connections", "total", "refused",
 *                              "bytes":{"from_guest", "to_guest"}}
 *
 * and to the supervisor:
 *
 *     event.resolve {id, name, port}
 *     event.certificate {name} until half of its life is over, the proxy keeps
 *                              the certificate
 *     event.ask {id, name, port}
 *                              connections are held until this is decided
 *                              (asks.h)
 *     event.ask_withdrawn {id} the question is over without an answer: the
 *                              guest has closed the connections, or a new
 *                              policy decides
 *     event.request {id, name, port, method, path, status, verdict, reason,
 *     allow}
 *                              an intercepted connection (id) has had a
 *                              request; status: of the response, 0: none;
 *                              verdict: "allowed" or "refused"; reason and
 *                              allow: as below
 *     event.requests_untold {count}
 *                              requests beyond 20 a second
 *     event.connection {id, name, port, address, verdict, reason, allow,
 *     from_guest, to_guest, milliseconds}
 *                              a connection has ended; verdict: "closed" or
 *                              "refused"; address, reason and allow may be
 *                              null; allow: the entry of the policy that would
 *                              allow it
 *     event.connections_untold {count}
 *                              ends beyond 20 a second
 */
#ifndef PROXY_CONTROL_H
#define PROXY_CONTROL_H

#include "proxy/connections.h"

struct control;

/* Takes fd. closed is called when the supervisor has exited. */
struct control *control_new(int fd, void (*closed)(void *opaque), void *opaque);
void control_free(struct control *control);

/* Call it once, before the loop runs. connections is borrowed. configured is
 * called at the first policy, with the opaque of control_new(). */
void control_attach(struct control *control, struct connections *connections,
                    void (*configured)(void *opaque));

/* No more connections come: report all ends, however many in a second. */
void control_expect_end(struct control *control);

/* For connections_new(), with the control as opaque. */
extern const struct connections_callbacks control_callbacks;

#endif
