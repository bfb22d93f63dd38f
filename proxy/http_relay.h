/* SPDX-License-Identifier: Apache-2.0
 *
 * http_relay - relays the HTTP of one intercepted connection.
 *
 * A relay reads plain bytes of both sides, and writes others: each request is
 * judged by the policy, placeholders of secrets in its header fields become
 * their values, and values in the fields of responses become placeholders.
 * Bodies are streamed. There is a relay for each version of HTTP; both sides
 * speak the same one.
 *
 * The owner moves the bytes between the relay and the connections:
 *
 *     for each side: take() bytes of it while wants(), end() at their end
 *     for each side: write output(), report it by written()
 *     end the input of a side once is_over()
 *
 * A call for one side can change wants() and output() of the other; take() that
 * consumed less than it was given is called again with the rest after that.
 * Output of a side is bounded: take() from the other side stops until it is
 * written.
 *
 * No function is called from within exchanged(). One thread.
 */
#ifndef PROXY_HTTP_RELAY_H
#define PROXY_HTTP_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/network_policy.h"
#include "proxy/secrets.h"

enum http_side { HTTP_GUEST, HTTP_SERVER };

/* A request that has its response, or was refused; or one that has reached the
 * server and will have no response, then status is 0 and refused false. The
 * texts are borrowed, and printable ASCII but for the reason. */
struct http_exchange {
    const char *method, *path; /* path: without query; at most 1 KiB, cut */
    unsigned status;           /* of the server; 0: none */
    bool refused;
    const char *reason; /* NULL if there is a response */
    const char *allow;  /* the policy's entry that would allow it, or NULL */
};

/* Borrowed by the relay for its life. */
struct http_context {
    const char *name;
    unsigned port;
    bool tls;
    /* May change between calls: each request is judged by the current one. */
    const struct network_policy *policy;
    struct secrets *secrets; /* NULL: none */
    /* Called from within take(), end() and free(), once for each request; again
     * if a field after its body is refused when it has its response. */
    void (*exchanged)(const struct http_exchange *exchange, void *opaque);
    void *opaque;
};

/* Begins the struct of each kind of relay. */
struct http_relay {
    const struct http_relay_ops *ops;
};

struct http_relay_ops {
    void (*free)(struct http_relay *relay);

    /* Take bytes from a side. Return how many were consumed; less than length:
     * the other side's output is full, or the other side must go on first. -1:
     * the peer broke the protocol, or a request was refused in a way that ends
     * the connection. Output that explains it (403, GOAWAY) may still be
     * pending; after it is written, the connection ends. Further calls return
     * -1, too. */
    ssize_t (*take)(struct http_relay *relay, enum http_side from,
                    const uint8_t *data, size_t length);

    /* The side sends no more; all its bytes were consumed, or never will be. */
    void (*end)(struct http_relay *relay, enum http_side from);

    /* Return the bytes to write, and their number (0: none; the pointer is
     * meaningless then). Stable until written(). */
    const uint8_t *(*output)(struct http_relay *relay, enum http_side to,
                             size_t *ret_length);

    /* Drop the first bytes of output(): at most its length. */
    void (*written)(struct http_relay *relay, enum http_side to, size_t length);

    /* Return whether take() could consume bytes. */
    bool (*wants)(const struct http_relay *relay, enum http_side from);

    /* Return whether no output will follow: end the side's input. When both
     * are over, so is the connection. Read and drop for a while what the guest
     * still sends: closing at once could discard the last output. */
    bool (*is_over)(const struct http_relay *relay, enum http_side to);

    /* Return whether the policy, which has changed, still allows the requests
     * that run. */
    bool (*is_allowed)(const struct http_relay *relay);

    /* Return the number, from 1 on, of the guest's request head that has begun
     * and that the relay waits for; 0: none. */
    unsigned (*begun_head)(const struct http_relay *relay);

    /* Return the reason after -1: a text that lives as long as the relay. NULL
     * before. */
    const char *(*problem)(const struct http_relay *relay);
};

#endif
