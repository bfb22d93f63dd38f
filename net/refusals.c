/* SPDX-License-Identifier: Apache-2.0
 *
 * refusals - see refusals.h.
 */
#include "net/refusals.h"

#include <netinet/in.h>
#include <string.h>

bool refusals_add(struct refusals *refusals, const struct frame *frame)
{
    struct refusal *refusal;

    for (unsigned i = 0; i < refusals->count; i++) {
        refusal = &refusals->list[i];
        if (refusal->target.v6 == frame->target.v6 &&
            memcmp(refusal->target.bytes, frame->target.bytes, 16) == 0) {
            refusal->frames++;
            return false;
        }
    }
    if (refusals->count == REFUSALS_MAX) {
        refusals->others++;
        return !refusals->others_reported;
    }
    refusal = &refusals->list[refusals->count++];
    *refusal = (struct refusal){
        .target = frame->target,
        .protocol = frame->protocol,
        .port = frame->target_port,
        .frames = 1,
    };
    return true;
}

static json_t *describe(const struct refusal *refusal)
{
    static const char *const names[] = {
        [FRAME_ICMP] = "icmp",
        [FRAME_TCP] = "tcp",
        [FRAME_UDP] = "udp",
        [FRAME_ICMPV6] = "icmp",
    };
    char text[INET6_ADDRSTRLEN];

    return json_pack("{s:s, s:s, s:i, s:I}", "destination",
                     network_address_format(&refusal->target, text), "protocol",
                     names[refusal->protocol], "port", (int)refusal->port,
                     "count", (json_int_t)refusal->frames);
}

json_t *refusals_tell(struct refusals *refusals)
{
    for (unsigned i = 0; i < refusals->count; i++) {
        if (!refusals->list[i].reported) {
            refusals->list[i].reported = true;
            return describe(&refusals->list[i]);
        }
    }
    if (refusals->others == 0 || refusals->others_reported)
        return NULL;
    refusals->others_reported = true;
    return json_pack("{s:n, s:I}", "destination", "count",
                     (json_int_t)refusals->others);
}
