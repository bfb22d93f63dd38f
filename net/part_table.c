/* SPDX-License-Identifier: Apache-2.0
 *
 * part_table - see part_table.h.
 */
#include "net/part_table.h"

#include <string.h>

enum { UNIT = 8 }; /* the unit of fragment offsets */

static size_t header_length(const struct frame *part)
{
    return FRAME_HEADER +
           (part->type == FRAME_IPV6 ? FRAME_IPV6_HEADER : FRAME_IPV4_HEADER);
}

/* Return whether the fragment may belong to a supported packet. */
static bool is_usable(const struct frame *part)
{
    size_t end = part->part_offset + part->payload_length;
    size_t room = FRAME_PAYLOAD_MAX -
                  (part->type == FRAME_IPV4 ? FRAME_IPV4_HEADER : 0);

    if (part->protocol != FRAME_UDP &&
        (part->protocol != FRAME_ICMP || part->type != FRAME_IPV4))
        return false;
    if (part->more && part->payload_length % UNIT != 0)
        return false;
    return part->payload_length > 0 && end <= room;
}

/* ---- slots --------------------------------------------------------------- */

static bool is_same(const struct part_slot *slot, const struct frame *part)
{
    return slot->id == part->fragment_id && slot->type == part->type &&
           slot->protocol == part->protocol &&
           memcmp(slot->source.bytes, part->source.bytes, 16) == 0 &&
           memcmp(slot->target.bytes, part->target.bytes, 16) == 0;
}

static void give_up(struct part_table *table, struct part_slot *slot)
{
    table->lost += slot->parts;
    slot->parts = 0;
    slot->used = false;
}

static struct part_slot *begin(struct part_slot *slot, const struct frame *part,
                               int64_t now_ms)
{
    slot->used = true;
    slot->spoilt = false;
    slot->until = now_ms + PART_TABLE_WAIT_MS;
    slot->parts = 0;
    slot->type = part->type;
    slot->protocol = part->protocol;
    slot->id = part->fragment_id;
    slot->source = part->source;
    slot->target = part->target;
    slot->total = slot->end = slot->got = 0;
    memset(slot->have, 0, sizeof(slot->have));
    return slot;
}

/* Return the slot of the packet, or a new one, evicting the oldest if
 * necessary. */
static struct part_slot *find(struct part_table *table,
                              const struct frame *part, int64_t now_ms)
{
    struct part_slot *oldest = &table->slots[0];

    for (unsigned i = 0; i < PART_TABLE_SLOTS; i++) {
        struct part_slot *slot = &table->slots[i];

        if (slot->used && slot->until <= now_ms)
            give_up(table, slot);
        if (slot->used && is_same(slot, part))
            return slot;
        if (oldest->used && (!slot->used || slot->until < oldest->until))
            oldest = slot;
    }
    if (oldest->used)
        give_up(table, oldest);
    return begin(oldest, part, now_ms);
}

/* ---- joining ------------------------------------------------------------- */

static bool has_any(const struct part_slot *slot, size_t from, size_t end)
{
    for (size_t unit = from / UNIT; unit * UNIT < end; unit++) {
        if (slot->have[unit / 8] & 1 << unit % 8)
            return true;
    }
    return false;
}

/* Return whether the fragment contradicts the earlier ones. */
static bool is_contrary(const struct part_slot *slot, const struct frame *part)
{
    size_t end = part->part_offset + part->payload_length;

    if (has_any(slot, part->part_offset, end))
        return true;
    if (slot->total > 0)
        return !part->more || end > slot->total;
    return !part->more && end < slot->end;
}

static void put(struct part_slot *slot, const struct frame *part)
{
    size_t header = header_length(part);
    size_t end = part->part_offset + part->payload_length;

    memcpy(slot->frame + header + part->part_offset, part->data + part->payload,
           part->payload_length);
    for (size_t unit = part->part_offset / UNIT; unit * UNIT < end; unit++)
        slot->have[unit / 8] |= (uint8_t)(1 << unit % 8);
    if (part->first)
        memcpy(slot->frame, part->data, header);
    if (!part->more)
        slot->total = end;
    if (slot->end < end)
        slot->end = end;
    slot->got += part->payload_length;
    slot->parts++;
}

/* Turn the first fragment's headers at data into those of a packet of total
 * bytes. */
static bool finish(uint8_t *data, const struct frame *part, size_t total,
                   struct frame *ret_whole)
{
    uint8_t *ip = data + FRAME_HEADER;

    if (part->type == FRAME_IPV6) {
        frame_put16(ip + 4, (unsigned)total);
        ip[6] = (uint8_t)part->protocol;
    } else {
        frame_put16(ip + 2, (unsigned)total + FRAME_IPV4_HEADER);
        frame_put16(ip + 6, 0);
        frame_put16(ip + 10, 0);
        frame_put16(ip + 10,
                    ~frame_fold(frame_sum(0, ip, FRAME_IPV4_HEADER)) & 0xffff);
    }
    if (!frame_parse(data, header_length(part) + total, ret_whole))
        return false;
    ret_whole->joined = true;
    return true;
}

/* Handle an atomic fragment: IPv6 fragments may be a whole packet, and are
 * independent of others with the same id (RFC 6946). */
static bool finish_alone(const struct frame *part, struct frame *ret_whole)
{
    memmove(part->data + header_length(part), part->data + part->payload,
            part->payload_length);
    return finish(part->data, part, part->payload_length, ret_whole);
}

enum part_verdict part_table_add(struct part_table *table,
                                 const struct frame *part, int64_t now_ms,
                                 struct frame *ret_whole)
{
    struct part_slot *slot;

    if (!is_usable(part))
        return PART_DROPPED;
    if (part->first && !part->more)
        return finish_alone(part, ret_whole) ? PART_WHOLE : PART_DROPPED;
    slot = find(table, part, now_ms);
    if (slot->spoilt)
        return PART_DROPPED;
    if (is_contrary(slot, part)) {
        slot->spoilt = true;
        table->lost += slot->parts;
        slot->parts = 0;
        return PART_DROPPED;
    }
    put(slot, part);
    if (slot->total == 0 || slot->got < slot->total)
        return PART_KEPT;
    slot->used = false;
    return finish(slot->frame, part, slot->total, ret_whole) ? PART_WHOLE
                                                             : PART_DROPPED;
}
