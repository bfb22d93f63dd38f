/* SPDX-License-Identifier: Apache-2.0
 *
 * dns_alias - see dns_alias.h.
 */
#include "net/dns_alias.h"

#include <string.h>

enum { DNS = 53 };

static uint8_t *port_byte(struct dns_alias *alias, const struct frame *frame,
                          unsigned port)
{
    return &alias->ports[frame->protocol == FRAME_TCP][port / 8];
}

/* Replace 4 bytes at "at" and update the checksum at "sum" (RFC 1624, equation
 * 3). */
static void mend_sum(uint8_t *sum, const uint8_t *from, const uint8_t *to)
{
    uint32_t value = ~frame_get16(sum) & 0xffff;

    value += ~frame_get16(from) & 0xffff;
    value += ~frame_get16(from + 2) & 0xffff;
    value = frame_sum(value, to, 4);
    frame_put16(sum, ~frame_fold(value) & 0xffff);
}

/* Change the address at "at" in the IP header, and update the checksums. */
static void change_address(struct frame *frame, size_t at, const uint8_t *to)
{
    uint8_t *ip = frame->data + FRAME_HEADER;
    uint8_t *payload = frame->data + frame->payload;

    mend_sum(ip + 10, ip + at, to);
    if (frame->first && frame->protocol == FRAME_TCP)
        mend_sum(payload + 16, ip + at, to);
    /* UDP: 0 means no checksum. */
    if (frame->first && frame->protocol == FRAME_UDP &&
        frame_get16(payload + 6) != 0) {
        mend_sum(payload + 6, ip + at, to);
        if (frame_get16(payload + 6) == 0)
            frame_put16(payload + 6, 0xffff);
    }
    memcpy(ip + at, to, 4);
}

void dns_alias_send(struct dns_alias *alias, struct frame *frame)
{
    *port_byte(alias, frame,
               frame->source_port) |= (uint8_t)(1 << frame->source_port % 8);
    change_address(frame, 16, alias->server);
    memcpy(frame->target.bytes, alias->server, 4);
}

void dns_alias_note(struct dns_alias *alias, const struct frame *frame)
{
    if (frame->type == FRAME_IPV4 && frame->first &&
        (frame->protocol == FRAME_TCP || frame->protocol == FRAME_UDP) &&
        frame->target_port == DNS)
        *port_byte(alias, frame, frame->source_port) &= (uint8_t) ~(
            1 << frame->source_port % 8);
}

static bool is_answer(struct dns_alias *alias, const struct frame *frame)
{
    if (frame->protocol != FRAME_TCP && frame->protocol != FRAME_UDP)
        return false;
    if (!frame->first)
        return alias->has_fragment && frame->protocol == FRAME_UDP &&
               frame->fragment_id == alias->fragment_id;
    return frame->source_port == DNS &&
           *port_byte(alias, frame, frame->target_port) &
               1 << frame->target_port % 8;
}

bool dns_alias_receive(struct dns_alias *alias, struct frame *frame)
{
    if (!alias->has_server || frame->type != FRAME_IPV4 ||
        memcmp(frame->source.bytes, alias->server, 4) != 0 ||
        !is_answer(alias, frame))
        return false;
    if (frame->fragmented && frame->first) {
        alias->fragment_id = frame->fragment_id;
        alias->has_fragment = true;
    }
    change_address(frame, 12, alias->guest);
    memcpy(frame->source.bytes, alias->guest, 4);
    return true;
}
