/* SPDX-License-Identifier: Apache-2.0
 *
 * dial - connects to the first of several addresses that accepts.
 */
#ifndef PROXY_DIAL_H
#define PROXY_DIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/network_address.h"
#include "proxy/poller.h"

enum { DIAL_ADDRESSES = 16 };

/* Zero at first. */
struct dial {
    struct poller *poller; /* borrowed */
    struct watch watch;
    int fd; /* meaningful while it is watched */
    unsigned port, count, next;
    struct network_address addresses[DIAL_ADDRESSES];
    int64_t until; /* of an attempt; microseconds of the monotonic clock */
    int failure;   /* errno of the last attempt */

    /* fd: a connected socket, taken over by the callee, with its address, or
     * -errno. It may free the dial. */
    void (*done)(int fd, const struct network_address *address, void *opaque);
    void *opaque;
};

/* Start; addresses (copied) has 1 to DIAL_ADDRESSES. done may be called from
 * within. */
void dial_start(struct dial *dial, const struct network_address *addresses,
                unsigned count, unsigned port);

/* Try the next address if the current one has been silent for too long. done
 * may be called from within. */
void dial_tick(struct dial *dial, int64_t now);

/* Give up; done is not called. */
void dial_stop(struct dial *dial);

#endif
