/* SPDX-License-Identifier: Apache-2.0
 *
 * refusals - where a guest wanted to go and may not.
 *
 * Each destination is told once, shortly after the first attempt, with the
 * number of frames so far; and so many destinations at most. After that one
 * more line tells that there are others.
 */
#ifndef NET_REFUSALS_H
#define NET_REFUSALS_H

#include <jansson.h>

#include "net/frame.h"

enum { REFUSALS_MAX = 64 };

struct refusals {
    unsigned count;
    bool others_told;
    uint64_t others;
    struct refusal {
        struct network_address target;
        unsigned protocol, port;
        uint64_t frames;
        bool told;
    } list[REFUSALS_MAX];
};

/* True if there is something new to tell. */
bool refusals_add(struct refusals *refusals, const struct frame *frame);

/* The payload of the next event.refused, or NULL. */
json_t *refusals_tell(struct refusals *refusals);

#endif
