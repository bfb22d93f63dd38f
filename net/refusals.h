/* SPDX-License-Identifier: Apache-2.0
 *
 * refusals - the destinations that a guest tried and may not reach.
 *
 * Each destination is reported once, shortly after the first attempt, with the
 * number of frames so far; REFUSALS_MAX destinations at most. After that one
 * more event reports that there are others.
 */
#ifndef NET_REFUSALS_H
#define NET_REFUSALS_H

#include <jansson.h>

#include "net/frame.h"

enum { REFUSALS_MAX = 64 };

struct refusals {
    unsigned count;
    bool others_reported;
    uint64_t others;
    struct refusal {
        struct network_address target;
        unsigned protocol, port;
        uint64_t frames;
        bool reported;
    } list[REFUSALS_MAX];
};

/* Return true if there is something new to report. */
bool refusals_add(struct refusals *refusals, const struct frame *frame);

/* Return the payload of the next event.refused, or NULL. */
json_t *refusals_tell(struct refusals *refusals);

#endif
