/* SPDX-License-Identifier: Apache-2.0
 *
 * intercepted - see intercepted.h.
 */
#include "proxy/intercepted.h"

#include <string.h>
#include <sys/epoll.h>

#include "proxy/host_name.h"
#include "proxy/relay_pump.h"
#include "proxy/relays.h"

/* For each of: the server's handshake and the certificate; the guest's
 * handshake. For the head of a request, from its first byte on, as for the
 * first one (connection.c). For the rest of a connection that an end or the
 * relay ends. */
enum {
    HANDSHAKE_TIME = 30 * G_USEC_PER_SEC,
    HEAD_TIME = 30 * G_USEC_PER_SEC,
    DRAIN_TIME = 30 * G_USEC_PER_SEC,
};

enum state { HELLO, CONNECT, SERVER, LEAF, GUEST, RELAY, OVER };

struct intercepted {
    const struct interception *setup;
    gint64 id;
    char name[HOST_NAME_ROOM];
    bool tls;
    enum state state;
    enum intercepted_status status; /* of OVER */
    struct tls_end *ends[2];        /* by enum http_side */
    int server_fd;                  /* -1: not connected */
    struct alpn offer;              /* to the server */
    unsigned protocol;              /* of the relay */
    struct http_context context;
    struct relay_pump pump;
    gint64 until;
    unsigned head;  /* the number of the request's head whose limit it is */
    bool is_ending; /* it is that of the end */

    bool refused, request_refused; /* the last request */
    char *reason, *allow;          /* allow: of that request */
};

/* ---- the end ------------------------------------------------------------- */

static void set_end(struct intercepted *intercepted,
                    enum intercepted_status status, const char *reason)
{
    intercepted->state = OVER;
    intercepted->status = status;
    intercepted->until = 0;
    if (reason && !intercepted->reason)
        intercepted->reason = g_strdup(reason);
}

/* End it before bytes passed. The guest gets the alert if it waits for the
 * handshake. */
static void reject(struct intercepted *intercepted, int alert,
                   const char *reason)
{
    tls_end_reject(intercepted->ends[HTTP_GUEST], alert);
    set_end(intercepted, INTERCEPTED_ENDED, reason);
}

static const char no_memory[] = "no memory for a TLS session";

/* ---- exchanges ----------------------------------------------------------- */

static void on_exchange(const struct http_exchange *exchange, void *opaque)
{
    struct intercepted *intercepted = opaque;
    const struct interception *setup = intercepted->setup;
    const struct intercepted_request request = {
        .id = intercepted->id,
        .name = intercepted->name,
        .port = intercepted->context.port,
        .exchange = exchange,
    };

    intercepted->request_refused = exchange->refused;
    g_free(intercepted->allow);
    intercepted->allow = g_strdup(exchange->allow);
    setup->exchanged(&request, setup->opaque);
}

/* ---- the states ---------------------------------------------------------- */

static relay_new *kind_of(unsigned protocol)
{
    return protocol == ALPN_HTTP2 ? relay_kinds.http2 : relay_kinds.http1;
}

/* Choose the protocols to offer to the server: the guest's, as far as there is
 * a relay. Return false if none is left. */
static bool choose_offer(struct intercepted *intercepted)
{
    const struct alpn *offered = tls_end_offered(intercepted->ends[HTTP_GUEST]);
    struct alpn *offer = &intercepted->offer;

    *offer = (struct alpn){ .present = true };
    if (!offered->present && kind_of(ALPN_HTTP1)) {
        alpn_add(offer, ALPN_HTTP1);
    } else {
        /* Of two, the guest prefers the first. */
        bool second = alpn_protocol_of(offered->wire + 1, offered->wire[0]) ==
                      ALPN_HTTP1;
        const enum alpn_protocol order[] = {
            second ? ALPN_HTTP1 : ALPN_HTTP2,
            second ? ALPN_HTTP2 : ALPN_HTTP1,
        };

        for (size_t i = 0; i < G_N_ELEMENTS(order); i++) {
            if (offered->protocols & order[i] && kind_of(order[i]))
                alpn_add(offer, order[i]);
        }
    }
    return offer->protocols != 0;
}

static bool read_hello(struct intercepted *intercepted)
{
    struct tls_end *guest = intercepted->ends[HTTP_GUEST];

    switch (tls_end_shake_hands(guest)) {
    case TLS_HELLO:
        if (choose_offer(intercepted))
            intercepted->state = CONNECT;
        else
            reject(intercepted, SSL_AD_NO_APPLICATION_PROTOCOL,
                   "the guest offers no version of HTTP that can be relayed");
        return true;
    case TLS_WAITS:
        return false;
    case TLS_DONE:
    case TLS_FAILED:
        break;
    }
    set_end(intercepted, INTERCEPTED_ENDED, tls_end_problem(guest));
    return true;
}

static bool start_server(struct intercepted *intercepted)
{
    SSL_CTX *context = intercepted->tls ? intercepted->setup->to_servers : NULL;

    if (intercepted->server_fd < 0)
        return false;
    intercepted->ends[HTTP_SERVER] = tls_end_new_server(
        intercepted->server_fd, context, intercepted->name,
        &intercepted->offer);
    if (!intercepted->ends[HTTP_SERVER])
        reject(intercepted, SSL_AD_INTERNAL_ERROR, no_memory);
    else if (intercepted->tls)
        intercepted->state = SERVER;
    else
        intercepted->state = RELAY;
    return true;
}

/* Return whether the server has chosen a protocol that it was offered. Without
 * ALPN it speaks HTTP/1. */
static bool choose_protocol(struct intercepted *intercepted)
{
    unsigned chosen = tls_end_chosen(intercepted->ends[HTTP_SERVER]);

    intercepted->protocol = chosen ? chosen : ALPN_HTTP1;
    return intercepted->offer.protocols & intercepted->protocol;
}

static bool shake_server(struct intercepted *intercepted)
{
    struct tls_end *server = intercepted->ends[HTTP_SERVER];

    switch (tls_end_shake_hands(server)) {
    case TLS_WAITS:
        return false;
    case TLS_DONE:
        if (!tls_end_is_checked(server, intercepted->name))
            break;
        if (choose_protocol(intercepted))
            intercepted->state = LEAF;
        else
            reject(intercepted, SSL_AD_NO_APPLICATION_PROTOCOL,
                   "the server has chosen a version of HTTP that the guest "
                   "does not offer");
        return true;
    case TLS_HELLO:
    case TLS_FAILED:
        break;
    }
    intercepted->refused = tls_end_is_distrusted(server);
    reject(intercepted, SSL_AD_HANDSHAKE_FAILURE, tls_end_problem(server));
    return true;
}

static bool find_leaf(struct intercepted *intercepted)
{
    const struct tls_end *guest = intercepted->ends[HTTP_GUEST];
    const struct leaf *leaf = NULL;
    const char *reason = NULL;
    bool named = tls_end_offered(guest)->present;

    switch (leaves_find(intercepted->setup->leaves, intercepted->name, &leaf,
                        &reason)) {
    case LEAF_WAITS:
        return false;
    case LEAF_FAILED:
        reject(intercepted, SSL_AD_INTERNAL_ERROR, reason);
        return true;
    case LEAF_READY:
        break;
    }
    if (tls_end_go_on(intercepted->ends[HTTP_GUEST], leaf->certificate,
                      leaf->key, leaf->chain,
                      named ? intercepted->protocol : 0)) {
        intercepted->state = GUEST;
        intercepted->until = g_get_monotonic_time() + HANDSHAKE_TIME;
    } else {
        reject(intercepted, SSL_AD_INTERNAL_ERROR,
               "the sandbox's certificate cannot be used");
    }
    return true;
}

static bool shake_guest(struct intercepted *intercepted)
{
    struct tls_end *guest = intercepted->ends[HTTP_GUEST];

    switch (tls_end_shake_hands(guest)) {
    case TLS_WAITS:
        return false;
    case TLS_DONE:
        intercepted->state = RELAY;
        return true;
    case TLS_HELLO:
    case TLS_FAILED:
        break;
    }
    set_end(intercepted, INTERCEPTED_ENDED, tls_end_problem(guest));
    return true;
}

/* Make the relay. This is the only place from which bytes can pass: both checks
 * are repeated. */
static void start_relay(struct intercepted *intercepted)
{
    relay_new *make = kind_of(intercepted->protocol);

    for (int side = 0; intercepted->tls && side < 2; side++) {
        if (tls_end_is_checked(intercepted->ends[side], intercepted->name))
            continue;
        intercepted->refused = true;
        set_end(intercepted, INTERCEPTED_ENDED,
                side == HTTP_GUEST
                    ? "the second ClientHello has another server name"
                    : "the server's certificate was not checked");
        return;
    }
    if (!make) {
        set_end(intercepted, INTERCEPTED_ENDED,
                "this version of HTTP cannot be intercepted");
        return;
    }
    intercepted->until = 0;
    intercepted->pump.ends[HTTP_GUEST] = intercepted->ends[HTTP_GUEST];
    intercepted->pump.ends[HTTP_SERVER] = intercepted->ends[HTTP_SERVER];
    intercepted->pump.relay = make(&intercepted->context);
}

/* Set the time limit of a relay that runs. */
static void set_relay_time(struct intercepted *intercepted)
{
    const struct relay_pump *pump = &intercepted->pump;
    bool ends = pump->failed || pump->broken_off;
    unsigned head = ends ? 0 : pump->relay->ops->begun_head(pump->relay);
    gint64 now = g_get_monotonic_time();

    if (ends && !intercepted->is_ending)
        intercepted->until = now + DRAIN_TIME;
    else if (!ends && head != intercepted->head)
        intercepted->until = head > 0 ? now + HEAD_TIME : 0;
    intercepted->is_ending = ends;
    intercepted->head = head;
}

static void run_relay(struct intercepted *intercepted)
{
    struct relay_pump *pump = &intercepted->pump;

    if (!pump->relay)
        start_relay(intercepted);
    if (!pump->relay)
        return;
    switch (relay_pump_run(pump)) {
    case PUMP_RUNS:
        set_relay_time(intercepted);
        break;
    case PUMP_DONE:
        set_end(intercepted, INTERCEPTED_DONE, NULL);
        break;
    case PUMP_FAILED:
        intercepted->refused = intercepted->request_refused;
        set_end(intercepted, INTERCEPTED_ENDED, pump->reason);
        break;
    case PUMP_BROKEN:
        set_end(intercepted, INTERCEPTED_BROKEN, pump->reason);
        break;
    }
}

/* ---- interface ----------------------------------------------------------- */

struct intercepted *intercepted_new(const struct interception *setup, gint64 id,
                                    const char *name, unsigned port,
                                    int guest_fd, bool tls, const char *bytes,
                                    size_t length)
{
    struct intercepted *intercepted = g_new0(struct intercepted, 1);
    struct tls_end *guest = tls_end_new_guest(guest_fd,
                                              tls ? setup->to_guests : NULL);

    if (!guest) {
        g_free(intercepted);
        return NULL;
    }
    tls_end_push(guest, bytes, length);
    intercepted->setup = setup;
    intercepted->id = id;
    g_strlcpy(intercepted->name, name, sizeof(intercepted->name));
    intercepted->tls = tls;
    intercepted->state = tls ? HELLO : CONNECT;
    intercepted->protocol = ALPN_HTTP1;
    intercepted->ends[HTTP_GUEST] = guest;
    intercepted->server_fd = -1;
    intercepted->until = g_get_monotonic_time() + HANDSHAKE_TIME;
    intercepted->context = (struct http_context){
        .name = intercepted->name,
        .port = port,
        .tls = tls,
        .policy = setup->policy,
        .secrets = setup->secrets,
        .exchanged = on_exchange,
        .opaque = intercepted,
    };
    return intercepted;
}

void intercepted_stop(struct intercepted *intercepted)
{
    set_end(intercepted, INTERCEPTED_BROKEN, NULL);
    relay_pump_clear(&intercepted->pump);
}

void intercepted_free(struct intercepted *intercepted)
{
    if (!intercepted)
        return;
    relay_pump_clear(&intercepted->pump);
    tls_end_free(intercepted->ends[HTTP_GUEST]);
    tls_end_free(intercepted->ends[HTTP_SERVER]);
    g_free(intercepted->reason);
    g_free(intercepted->allow);
    g_free(intercepted);
}

void intercepted_connect(struct intercepted *intercepted, int server_fd)
{
    intercepted->server_fd = server_fd;
}

enum intercepted_status intercepted_run(struct intercepted *intercepted)
{
    bool moved = true;

    if (intercepted->tls && !intercepted->setup->to_servers &&
        intercepted->state == HELLO)
        set_end(intercepted, INTERCEPTED_ENDED,
                "no certificate authorities are known to check the server");
    while (moved) {
        switch (intercepted->state) {
        case HELLO:
            moved = read_hello(intercepted);
            break;
        case CONNECT:
            moved = start_server(intercepted);
            break;
        case SERVER:
            moved = shake_server(intercepted);
            break;
        case LEAF:
            moved = find_leaf(intercepted);
            break;
        case GUEST:
            moved = shake_guest(intercepted);
            break;
        case RELAY:
            run_relay(intercepted);
            moved = false;
            break;
        case OVER:
            moved = false;
            break;
        }
    }
    if (intercepted->state != OVER)
        return INTERCEPTED_RUNS;
    relay_pump_clear(&intercepted->pump);
    return intercepted->status;
}

void intercepted_lose_guest(struct intercepted *intercepted)
{
    if (intercepted->state < RELAY ||
        (intercepted->state == RELAY && intercepted->pump.relay &&
         intercepted->pump.sides[HTTP_GUEST].ended &&
         intercepted->pump.sides[HTTP_SERVER].finished))
        set_end(intercepted, INTERCEPTED_BROKEN, NULL);
}

uint32_t intercepted_events(const struct intercepted *intercepted,
                            enum http_side side)
{
    bool guest = side == HTTP_GUEST;

    switch (intercepted->state) {
    case HELLO:
    case GUEST:
        return guest ? tls_end_events(intercepted->ends[side], true, false) : 0;
    case SERVER:
        return guest ? 0 : tls_end_events(intercepted->ends[side], true, false);
    case RELAY:
        return relay_pump_events(&intercepted->pump, side);
    case CONNECT:
    case LEAF:
    case OVER:
        break;
    }
    return 0;
}

bool intercepted_is_allowed(const struct intercepted *intercepted)
{
    const struct http_relay *relay = intercepted->pump.relay;

    return !relay || relay->ops->is_allowed(relay);
}

enum intercepted_status intercepted_fail(struct intercepted *intercepted,
                                         const char *reason)
{
    reject(intercepted, SSL_AD_HANDSHAKE_FAILURE, reason);
    return intercepted->status;
}

gint64 intercepted_until(const struct intercepted *intercepted)
{
    return intercepted->until;
}

enum intercepted_status intercepted_expire(struct intercepted *intercepted)
{
    const char *reason = "the guest's TLS handshake is not complete within "
                         "30 s";

    if (intercepted->state == RELAY) {
        set_end(intercepted, INTERCEPTED_BROKEN,
                intercepted->head > 0 ? "no complete request within 30 s"
                                      : intercepted->pump.reason);
        return intercepted->status;
    }
    if (intercepted->state == SERVER || intercepted->state == CONNECT)
        reason = "the server's TLS handshake is not complete within 30 s";
    else if (intercepted->state == LEAF)
        reason = "the supervisor has issued no certificate within 30 s";
    return intercepted_fail(intercepted, reason);
}

struct intercepted_end
intercepted_get_end(const struct intercepted *intercepted)
{
    return (struct intercepted_end){
        .refused = intercepted->refused,
        .reason = intercepted->reason,
        .allow = intercepted->refused ? intercepted->allow : NULL,
    };
}

uint64_t intercepted_sent(const struct intercepted *intercepted,
                          enum http_side side)
{
    return intercepted->ends[side] ? tls_end_sent(intercepted->ends[side]) : 0;
}
