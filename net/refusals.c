/* SPDX-License-Identifier: Apache-2.0
 *
 * refusals - see refusals.h.
 */
#include "net/refusals.h"

#include <netinet/in.h>
#include <string.h>

static bool same(const struct refusal *a, const struct refusal *b)
{
    return strcmp(a->name, b->name) == 0 && a->target.v6 == b->target.v6 &&
           memcmp(a->target.bytes, b->target.bytes, 16) == 0;
}

static bool add(struct refusals *refusals, const struct refusal *refusal)
{
    for (unsigned i = 0; i < refusals->count; i++) {
        if (same(&refusals->list[i], refusal)) {
            refusals->list[i].frames++;
            return false;
        }
    }
    if (refusals->count == REFUSALS_MAX) {
        refusals->others++;
        return !refusals->others_reported;
    }
    refusals->list[refusals->count++] = *refusal;
    return true;
}

bool refusals_add(struct refusals *refusals, const struct frame *frame)
{
    static const char *const protocols[] = {
        [FRAME_ICMP] = "icmp",
        [FRAME_TCP] = "tcp",
        [FRAME_UDP] = "udp",
        [FRAME_ICMPV6] = "icmp",
    };
    const struct refusal refusal = {
        .target = frame->target,
        .protocol = protocols[frame->protocol],
        .port = frame->target_port,
        .frames = 1,
    };

    return add(refusals, &refusal);
}

bool refusals_add_name(struct refusals *refusals, const char *name,
                       const char *protocol, unsigned port, const char *reason)
{
    struct refusal refusal = {
        .protocol = protocol,
        .reason = reason,
        .port = port,
        .frames = 1,
    };

    g_strlcpy(refusal.name, name, sizeof(refusal.name));
    return add(refusals, &refusal);
}

static json_t *describe(const struct refusal *refusal)
{
    char text[INET6_ADDRSTRLEN];

    return json_pack(
        "{s:s, s:s, s:i, s:I, s:s*}", "destination",
        refusal->name[0] ? refusal->name
                         : network_address_format(&refusal->target, text),
        "protocol", refusal->protocol, "port", (int)refusal->port, "count",
        (json_int_t)refusal->frames, "reason", refusal->reason);
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
