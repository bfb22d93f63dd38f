/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_check - decides which bytes of a guest pass to the server of a name.
 *
 *     web   TLS with this name in the ClientHello, or HTTP/1.x requests for
 *           this name; nothing else
 *     port  the same if the first bytes look like TLS or HTTP; another protocol
 *           passes, also if the server sends the first bytes
 *     raw   everything passes
 *     http  nothing passes: the check decides whether it is TLS with this name,
 *           or HTTP, and intercepted.h judges the requests
 *
 * The content of a TLS session is not seen here: a client can ask a server for
 * another host within it, unless it is intercepted.
 */
#ifndef PROXY_GUEST_CHECK_H
#define PROXY_GUEST_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "proxy/http_requests.h"
#include "proxy/http_status.h"

/* The strictest is the first. */
enum guest_check_kind {
    GUEST_CHECK_INTERCEPT,
    GUEST_CHECK_WEB,
    GUEST_CHECK_PORT,
    GUEST_CHECK_RAW,
};

enum guest_check_protocol {
    GUEST_CHECK_UNKNOWN,
    GUEST_CHECK_TLS,
    GUEST_CHECK_HTTP,
    GUEST_CHECK_PASSED,  /* everything passes from now on */
    GUEST_CHECK_HELLO,   /* a ClientHello with the name, to be intercepted */
    GUEST_CHECK_REQUEST, /* a request's first line, the same */
};

struct guest_check {
    enum guest_check_kind kind;
    enum guest_check_protocol protocol;
    const char *name; /* borrowed */
    struct http_requests http;
    struct http_status status; /* of the response to an upgrade */
    struct refusal refusal;
};

/* The most bytes that a check needs at once. */
enum { GUEST_CHECK_MAX = HTTP_HEAD_MAX };

void guest_check_init(struct guest_check *check, enum guest_check_kind kind,
                      const char *name, unsigned port);

/* Judge data, as http_requests_judge() does. */
bool guest_check_judge(struct guest_check *check, const char *data,
                       size_t length, size_t *ret_passed);

/* The guest sends no more bytes, after data, which did not pass. Return false
 * if they are refused; else they pass. */
bool guest_check_end(struct guest_check *check, const char *data,
                     size_t length);

/* The server has sent these bytes. Judge the guest's bytes again if it returns
 * true. */
bool guest_check_hear(struct guest_check *check, const char *data,
                      size_t length);

/* Return whether no more bytes of the guest are needed for now. */
bool guest_check_waits(const struct guest_check *check);

/* Return whether the connection is intercepted from now on; then judge no more
 * bytes. */
bool guest_check_is_intercepted(const struct guest_check *check);

/* Return whether the guest must go on in time, when length bytes have not
 * passed: it has sent a part of what is judged as a whole, or nothing although
 * it must send first. */
bool guest_check_is_urgent(const struct guest_check *check, size_t length);

#endif
