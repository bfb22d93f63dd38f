/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_guest - a guest's memory and what its driver writes into it.
 *
 *      0x0000  descriptors of the ring      0x4000  an indirect table
 *      0x1000  avail                        0x7ff0  another, in both halves
 *      0x2000  used                         0x9000  requests, 4 KiB each
 *
 * The memory is two regions of GUEST_HALF that touch; its addresses are the
 * guest's from 0 and the front-end's from GUEST_USER. The driver's script is
 * acts (fuzz_guest.c) until one that ends it.
 *
 * One thread, but the device may look at the memory meanwhile.
 */
#ifndef TESTS_FUZZ_GUEST_H
#define TESTS_FUZZ_GUEST_H

#include "tests/fuzz/fuzz_request.h"

enum {
    GUEST_HALF = 0x8000,
    GUEST_SIZE = 2 * GUEST_HALF,
    GUEST_AVAIL = 0x1000,
    GUEST_USED = 0x2000,
    GUEST_INDIRECT = 0x4000,
    GUEST_STRADDLING = GUEST_HALF - 16,
    GUEST_REQUESTS = 0x9000,
    GUEST_QUEUE_SIZE = 16,
};

#define GUEST_USER (1ull << 40)

struct fuzz_guest {
    int fd;
    uint8_t *memory; /* GUEST_SIZE */
    struct fuzz_client client;
};

/* Allocate the memory at first, and clear it. */
void fuzz_guest_reset(struct fuzz_guest *guest);

/* Forget what the client knows. */
void fuzz_guest_clear(struct fuzz_guest *guest);

/* Run the driver's acts. */
void fuzz_guest_run(struct fuzz_guest *guest, struct fuzz_input *input);

/* Make the chain available that begins at this descriptor. */
void fuzz_guest_offer(struct fuzz_guest *guest, uint16_t head);

#endif
