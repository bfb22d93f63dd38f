/* SPDX-License-Identifier: Apache-2.0
 *
 * part_table - parts of a guest's packets (IP fragments) become whole ones.
 *
 * What a policy says depends on ports, which the first part alone has. So no
 * part goes anywhere: they wait here until a packet is complete, which is then
 * judged as if it had come in one piece. Tricks with parts (RFC 1858: a first
 * one that is too short for the ports, another that writes over them) lead to
 * nothing, because what is judged is what is sent on.
 *
 * Of UDP, and of ICMP over IPv4: nobody needs others, and libslirp 4.7 writes
 * beyond its buffers for a long echo request over IPv6. Parts that overlap
 * spoil their packet, also for those that are still to come (RFC 5722).
 *
 * Bounds: so many packets at a time, in memory that is always there; the oldest
 * one gives way. What is not complete after PART_TABLE_WAIT_MS will not be.
 */
#ifndef NET_PART_TABLE_H
#define NET_PART_TABLE_H

#include "net/frame.h"

enum {
    PART_TABLE_SLOTS = 8,
    PART_TABLE_WAIT_MS = 15000, /* RFC 791, 3.2 */
};

enum part_verdict {
    PART_KEPT,
    PART_WHOLE,   /* it was the last one that was missing */
    PART_DROPPED, /* it is of no use */
};

struct part_slot {
    bool used;
    bool spoilt;   /* nothing will come of it */
    int64_t until; /* ms */
    unsigned parts;

    /* Which packet it is (RFC 791; RFC 8200, 4.5). */
    unsigned type, protocol;
    uint32_t id;
    struct network_address source, target;

    size_t total; /* of the payload; 0: not known yet */
    size_t end;   /* of the furthest part */
    size_t got;
    uint8_t have[(FRAME_PAYLOAD_MAX + 1) / 8 / 8]; /* a bit for 8 bytes */
    uint8_t frame[FRAME_WHOLE_MAX];
};

/* All zero is an empty one. */
struct part_table {
    uint64_t lost; /* parts of packets that were given up */
    struct part_slot slots[PART_TABLE_SLOTS];
};

/* A part (frame->fragmented). The whole lies in the table or in the part's own
 * frame, which is changed then, until the next call. */
enum part_verdict part_table_add(struct part_table *table,
                                 const struct frame *part, int64_t now_ms,
                                 struct frame *ret_whole);

#endif
