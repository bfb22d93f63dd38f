/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_guest - see fuzz_guest.h.
 */
#include "tests/fuzz/fuzz_guest.h"

#include <linux/virtio_ring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_ACTS = 64 };

/* An act's first byte, modulo the number of acts; what follows it. */
enum act {
    ACT_END,
    ACT_DESC,    /* table, index, address, length, flags, next */
    ACT_REQUEST, /* place, request */
    ACT_OFFER,   /* head */
    ACT_INDEX,   /* the new index of avail */
    ACT_POKE,    /* address, number: 16 bits anywhere */
    ACT_SIMPLE,  /* request: a whole one, with space for its reply, offered */
    N_ACTS
};

static uint64_t pick_address(struct fuzz_input *input)
{
    static const uint64_t addresses[] = {
        GUEST_REQUESTS,
        GUEST_REQUESTS + 0x1000,
        GUEST_REQUESTS + 0x2000,
        GUEST_REQUESTS + 40,
        GUEST_HALF - 20,
        GUEST_SIZE - 10,
        GUEST_SIZE,
        GUEST_USER,
        UINT64_MAX - 10,
        GUEST_INDIRECT,
        GUEST_STRADDLING,
        0,
        GUEST_INDIRECT + 1024,
        GUEST_USED,
        GUEST_SIZE - 16,
    };
    uint8_t which = fuzz_input_byte(input);

    return which < G_N_ELEMENTS(addresses) ? addresses[which]
                                           : fuzz_input_number(input);
}

static void put_desc(struct fuzz_guest *guest, uint64_t table, unsigned index,
                     const struct vring_desc *desc)
{
    uint64_t at = table + index * sizeof(*desc);

    if (at <= GUEST_SIZE - sizeof(*desc))
        memcpy(guest->memory + at, desc, sizeof(*desc));
}

static void act_desc(struct fuzz_guest *guest, struct fuzz_input *input)
{
    static const uint32_t tables[] = { 0, GUEST_INDIRECT, GUEST_STRADDLING };
    uint64_t table = tables[fuzz_input_byte(input) % G_N_ELEMENTS(tables)];
    unsigned index = fuzz_input_byte(input);
    struct vring_desc desc;

    desc.addr = pick_address(input);
    desc.len = (uint32_t)fuzz_input_number(input);
    desc.flags = fuzz_input_byte(input);
    desc.next = (uint16_t)fuzz_input_number(input);
    put_desc(guest, table, index, &desc);
}

static size_t put_request(struct fuzz_guest *guest, uint64_t at,
                          struct fuzz_input *input)
{
    g_autoptr(GByteArray) request = fuzz_request_make(&guest->client, input);
    size_t size = MIN(request->len, GUEST_SIZE - at);

    memcpy(guest->memory + at, request->data, size);
    return size;
}

static void act_request(struct fuzz_guest *guest, struct fuzz_input *input)
{
    unsigned place = fuzz_input_byte(input) % 7;

    put_request(guest, GUEST_REQUESTS + place * 0x1000, input);
}

static struct vring_avail *avail_of(struct fuzz_guest *guest)
{
    return (struct vring_avail *)(guest->memory + GUEST_AVAIL);
}

void fuzz_guest_offer(struct fuzz_guest *guest, uint16_t head)
{
    struct vring_avail *avail = avail_of(guest);

    avail->ring[avail->idx % GUEST_QUEUE_SIZE] = head;
    __atomic_store_n(&avail->idx, (uint16_t)(avail->idx + 1), __ATOMIC_RELEASE);
}

static void act_poke(struct fuzz_guest *guest, struct fuzz_input *input)
{
    uint64_t at = fuzz_input_number(input) % (GUEST_SIZE / 2) * 2;
    uint16_t number = (uint16_t)fuzz_input_number(input);

    memcpy(guest->memory + at, &number, sizeof(number));
}

static void act_simple(struct fuzz_guest *guest, struct fuzz_input *input)
{
    size_t size = put_request(guest, GUEST_REQUESTS, input);
    struct vring_desc in = { GUEST_REQUESTS, (uint32_t)size, VRING_DESC_F_NEXT,
                             1 };
    struct vring_desc out = { GUEST_SIZE - 0x2000, 0x2000, VRING_DESC_F_WRITE,
                              0 };

    put_desc(guest, 0, 0, &in);
    put_desc(guest, 0, 1, &out);
    fuzz_guest_offer(guest, 0);
}

void fuzz_guest_run(struct fuzz_guest *guest, struct fuzz_input *input)
{
    for (int i = 0; i < MAX_ACTS; i++) {
        switch ((enum act)(fuzz_input_byte(input) % N_ACTS)) {
        case ACT_DESC:
            act_desc(guest, input);
            break;
        case ACT_REQUEST:
            act_request(guest, input);
            break;
        case ACT_OFFER:
            fuzz_guest_offer(guest, (uint16_t)fuzz_input_number(input));
            break;
        case ACT_INDEX:
            avail_of(guest)->idx = (uint16_t)fuzz_input_number(input);
            break;
        case ACT_POKE:
            act_poke(guest, input);
            break;
        case ACT_SIMPLE:
            act_simple(guest, input);
            break;
        default:
            return;
        }
    }
}

void fuzz_guest_reset(struct fuzz_guest *guest)
{
    if (!guest->memory) {
        guest->fd = memfd_create("guest", MFD_CLOEXEC);
        if (guest->fd < 0 || ftruncate(guest->fd, GUEST_SIZE) != 0)
            abort();
        guest->memory = mmap(NULL, GUEST_SIZE, PROT_READ | PROT_WRITE,
                             MAP_SHARED, guest->fd, 0);
        if (guest->memory == MAP_FAILED)
            abort();
    }
    memset(guest->memory, 0, GUEST_SIZE);
    fuzz_client_init(&guest->client);
}

void fuzz_guest_clear(struct fuzz_guest *guest)
{
    fuzz_client_clear(&guest->client);
}
