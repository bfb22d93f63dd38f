/* SPDX-License-Identifier: Apache-2.0
 *
 * relay_pump - moves bytes between the two ends of an intercepted connection,
 * through a relay.
 *
 * An end is read only while the relay takes its bytes, so a slow reader at one
 * end stops the writer at the other. Besides the relay's and OpenSSL's memory
 * there is at most a record for each direction.
 */
#ifndef PROXY_RELAY_PUMP_H
#define PROXY_RELAY_PUMP_H

#include "proxy/http_relay.h"
#include "proxy/tls_end.h"

struct relay_pump {
    struct http_relay *relay; /* owned */
    struct tls_end *ends[2];  /* borrowed; by enum http_side */
    struct relay_pump_side {
        uint8_t *held; /* read, and not taken yet */
        size_t start, end;
        bool ended;    /* sends no more */
        bool finished; /* knows that there is no more for it */
    } sides[2];
    bool failed;           /* the relay ends the connection */
    bool broken_off;       /* an end does */
    enum http_side broken; /* this end */
    const char *reason;    /* borrowed; NULL: an end has closed it */
};

enum pump_status {
    PUMP_RUNS,
    PUMP_DONE,   /* both ends have everything */
    PUMP_FAILED, /* the relay ended the connection; the guest has the reason */
    PUMP_BROKEN, /* an end has failed; see broken */
};

/* Move what can be moved now. */
enum pump_status relay_pump_run(struct relay_pump *pump);

/* Return the events of an end's socket to wait for. */
uint32_t relay_pump_events(const struct relay_pump *pump, enum http_side side);

void relay_pump_clear(struct relay_pump *pump);

#endif
