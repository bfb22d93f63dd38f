/* SPDX-License-Identifier: Apache-2.0
 *
 * parked_guest - a guest that sends many requests at once, and the agent that
 * lets a safeguard hold them.
 *
 * A queue of its own takes the requests. Its ring and its requests lie in
 * memory of its own: each request has two descriptors and a slot for what it
 * reads and writes, and is never sent twice.
 */
#ifndef TESTS_PARKED_GUEST_H
#define TESTS_PARKED_GUEST_H

#include "tests/lib/control_client.h"
#include "tests/virtiofs/fuse_client.h"

enum { GUEST_QUEUE = 3, GUEST_QUEUE_SIZE = 32768 };

/* The number of the i-th request. */
#define GUEST_UNIQUE(i) (1000001 + 2 * (i))

struct guest {
    struct client *client;
    struct control_client *control;
    char *folder; /* the control socket and the undo log */
    uint8_t *memory;
    int memory_fd;
    struct vring ring;
    int kick;
    unsigned sent;
    int64_t step;
    char *safeguard; /* the pending decision */
};

/* With a file "victim" in its share. */
struct guest *guest_new(void);

/* The same, with more arguments for the daemon (NULL-terminated). */
struct guest *guest_new_with(const char *const *arguments);

/* Expects that the daemon ends well. */
void guest_free(struct guest *g);

/* Set the queue up where it is; base: 0, or what guest_stop_queue() gave. */
void guest_start_queue(struct guest *g, uint32_t base);
uint32_t guest_stop_queue(struct guest *g);

void guest_enable_queue(struct guest *g, bool enable);

/* Take away the queue's memory, and bring it back. */
void guest_unshare_memory(struct guest *g);
void guest_share_memory(struct guest *g);

/* Empty the rings, as a guest that boots. */
void guest_clear_queue(struct guest *g);

/* ---- requests ------------------------------------------------------------ */

/* Write a request; guest_kick() sends all that were written. */
void guest_put(struct guest *g, uint32_t opcode, uint64_t node,
               const struct iovec *args, unsigned n_args);
void guest_kick(struct guest *g);

/* UNLINK or MKDIR in the root; so many folders "folder<n>"; a WRITE of n. */
void guest_put_name(struct guest *g, uint32_t opcode, const char *name);
void guest_put_folders(struct guest *g, unsigned count);
void guest_put_write(struct guest *g, uint64_t node, uint64_t fh, unsigned n);

/* How many were answered; wait until exactly so many were. */
unsigned guest_answered(struct guest *g);
void guest_wait_answered(struct guest *g, unsigned count);

/* Which request the n-th answer is of, and its error. */
unsigned guest_answer(struct guest *g, unsigned n, int *ret_error);

/* These answers all have this error. */
void guest_expect_answers(struct guest *g, unsigned first, unsigned end,
                          int expected);

/* A read on another queue works. */
void guest_read_on(struct guest *g);

/* On the host: is the name there; how many "folder..." are there? */
bool guest_exists(struct guest *g, const char *name);
unsigned guest_count_folders(struct guest *g);

/* ---- the agent ----------------------------------------------------------- */

/* Open a step and have the deletion of "victim", the first request, held. */
void guest_hold(struct guest *g);

void guest_confirm(struct guest *g, const char *action);
void guest_close_step(struct guest *g, bool denied);

#endif
