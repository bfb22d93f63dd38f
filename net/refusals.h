/* SPDX-License-Identifier: Apache-2.0
 *
 * refusals - the destinations that a guest tried and may not reach: addresses,
 * and names that it asked for ("dns") or connected to.
 *
 * Each destination is reported once, at the first attempt, with the
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
        char name[NETWORK_NAME_MAX + 1]; /* instead of target, if not empty */
        const char *protocol;            /* static */
        const char *reason;              /* static; NULL: none */
        unsigned port;
        uint64_t frames;
        bool reported;
    } list[REFUSALS_MAX];
};

/* The functions return true if there is something new to report. */
bool refusals_add(struct refusals *refusals, const struct frame *frame);

/* name: normalized (network_name.h). protocol: static, "tcp" or "dns". reason:
 * static, of a query (control.h), or NULL. */
bool refusals_add_name(struct refusals *refusals, const char *name,
                       const char *protocol, unsigned port, const char *reason);

/* Return the payload of the next event.refused, or NULL. */
json_t *refusals_tell(struct refusals *refusals);

#endif
