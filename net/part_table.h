/* SPDX-License-Identifier: Apache-2.0
 *
 * part_table - reassembles the guest's IP fragments.
 *
 * A policy depends on ports, which only the first fragment has. So fragments
 * are held here until a packet is complete, which is then judged as if it had
 * come in one piece. Fragment attacks (RFC 1858: a first fragment too short for
 * the ports, or another that overwrites them) fail, because the judged packet
 * is the one that is forwarded.
 *
 * Only UDP, and ICMP over IPv4: others are not needed, and libslirp 4.7 writes
 * beyond its buffers for a long echo request over IPv6. Overlapping fragments
 * spoil their packet, including later fragments of it (RFC 5722).
 *
 * Bounds: PART_TABLE_SLOTS packets at a time, in static memory; the oldest one
 * is evicted. A packet that is incomplete after PART_TABLE_WAIT_MS is dropped.
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
    PART_WHOLE,   /* the packet is complete */
    PART_DROPPED, /* useless */
};

struct part_slot {
    bool used;
    bool spoilt;   /* never completes */
    int64_t until; /* ms */
    unsigned parts;

    /* The packet's identity (RFC 791; RFC 8200, 4.5). */
    unsigned type, protocol;
    uint32_t id;
    struct network_address source, target;

    size_t total; /* of the payload; 0: unknown yet */
    size_t end;   /* of the furthest fragment */
    size_t got;
    uint8_t have[(FRAME_PAYLOAD_MAX + 1) / 8 / 8]; /* a bit for 8 bytes */
    uint8_t frame[FRAME_WHOLE_MAX];
};

/* All 0: empty. */
struct part_table {
    uint64_t lost; /* fragments of packets that were given up */
    struct part_slot slots[PART_TABLE_SLOTS];
};

/* Add a fragment (frame->fragmented). The whole packet lies in the table or in
 * the fragment's own frame, which is modified then, and is valid until the next
 * call. */
enum part_verdict part_table_add(struct part_table *table,
                                 const struct frame *part, int64_t now_ms,
                                 struct frame *ret_whole);

#endif
