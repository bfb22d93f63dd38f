/* SPDX-License-Identifier: Apache-2.0
 *
 * parts_rig - see parts_rig.h.
 */
#include "tests/net/parts_rig.h"

#include <string.h>

struct part_table *parts_rig_table;
int64_t parts_rig_now;

/* Return the byte of a packet at this place: UDP from 1024 to 53, and a
 * pattern. */
static uint8_t whole_byte(size_t at, size_t total)
{
    static const uint8_t ports[] = { 4, 0, 0, 53 };

    if (at < 4)
        return ports[at];
    if (at < 6)
        return (uint8_t)(total >> (5 - at) * 8);
    return (uint8_t)(at * 7 + at / 251);
}

size_t parts_rig_build(const struct part *part, size_t total, uint8_t *data)
{
    uint8_t *ip = data + FRAME_HEADER, *payload;

    memset(data, 0, FRAME_HEADER + FRAME_IPV6_HEADER);
    memset(data + FRAME_MAC, 2, FRAME_MAC);
    if (part->v6) {
        frame_put16(data + 12, FRAME_IPV6);
        ip[0] = 0x60;
        frame_put16(ip + 4, (unsigned)part->length + FRAME_PART_HEADER);
        ip[6] = FRAME_PART;
        ip[7] = 64;
        ip[8] = 0xfe;
        ip[23] = (uint8_t)(15 + part->guest);
        ip[24] = 0x20;
        payload = ip + FRAME_IPV6_HEADER + FRAME_PART_HEADER;
        payload[-8] = (uint8_t)part->protocol;
        payload[-7] = 0;
        frame_put16(payload - 6, (unsigned)part->offset | part->more);
        frame_put16(payload - 4, part->id >> 16);
        frame_put16(payload - 2, part->id & 0xffff);
    } else {
        frame_put16(data + 12, FRAME_IPV4);
        ip[0] = 0x45;
        frame_put16(ip + 2, (unsigned)part->length + FRAME_IPV4_HEADER);
        frame_put16(ip + 4, part->id & 0xffff);
        frame_put16(ip + 6,
                    (unsigned)part->offset / 8 | (part->more ? 0x2000 : 0));
        ip[8] = 64;
        ip[9] = (uint8_t)part->protocol;
        memcpy(ip + 12, "\12\0\2\17\11\11\11\11", 8);
        ip[15] = (uint8_t)(15 + part->guest);
        payload = ip + FRAME_IPV4_HEADER;
    }
    for (size_t i = 0; i < part->length; i++)
        payload[i] = part->fill ? (uint8_t)part->fill
                                : whole_byte(part->offset + i, total);
    return (size_t)(payload - data) + part->length;
}

enum part_verdict parts_rig_add_of(struct part part, size_t total,
                                   struct frame *ret_whole)
{
    static uint8_t data[PARTS_RIG_BUFFER];
    struct frame frame;

    if (part.protocol == 0)
        part.protocol = FRAME_UDP;
    if (!frame_parse(data, parts_rig_build(&part, total, data), &frame))
        return PART_DROPPED;
    g_assert_true(frame.fragmented);
    return part_table_add(parts_rig_table, &frame, parts_rig_now, ret_whole);
}

enum part_verdict parts_rig_add(struct part part)
{
    struct frame whole;

    return parts_rig_add_of(part, 0, &whole);
}

void parts_rig_check_whole(const struct frame *whole, bool v6, size_t total)
{
    const uint8_t *ip = whole->data + FRAME_HEADER;

    g_assert_true(whole->joined && !whole->fragmented && whole->first);
    g_assert_cmpuint(whole->type, ==, v6 ? FRAME_IPV6 : FRAME_IPV4);
    g_assert_cmpuint(whole->protocol, ==, FRAME_UDP);
    g_assert_cmpuint(whole->source_port, ==, 1024);
    g_assert_cmpuint(whole->target_port, ==, 53);
    g_assert_cmpuint(whole->payload_length, ==, total);
    g_assert_cmpuint(whole->length, ==, whole->payload + total);
    if (!v6)
        g_assert_cmphex(frame_fold(frame_sum(0, ip, 20)), ==, 0xffff);
    for (size_t i = 0; i < total; i++)
        g_assert_cmphex(whole->data[whole->payload + i], ==,
                        whole_byte(i, total));
}

void parts_rig_begin(void)
{
    g_free(parts_rig_table);
    parts_rig_table = g_new0(struct part_table, 1);
    parts_rig_now = 1000;
}
