/* SPDX-License-Identifier: Apache-2.0
 *
 * parked_guest - a guest that sends many requests at once, and its agent.
 *
 * The agent lets a safeguard hold them. The requests go to a separate queue.
 * Its ring and its requests are in memory of their own: each request has two
 * descriptors and a slot for what it reads and writes, and is never sent twice.
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

/* Make a guest with a file "victim" in its share. */
struct guest *guest_new(void);

/* The same, with more arguments for the daemon (NULL-terminated). */
struct guest *guest_new_with(const char *const *arguments);

/* Expects the daemon to exit with status 0. */
void guest_free(struct guest *g);

/* Set the queue up where it is; base: 0, or the result of guest_stop_queue().
 */
void guest_start_queue(struct guest *g, uint32_t base);
uint32_t guest_stop_queue(struct guest *g);

void guest_enable_queue(struct guest *g, bool enable);

/* Unshare the queue's memory; share it again. */
void guest_unshare_memory(struct guest *g);
void guest_share_memory(struct guest *g);

/* Empty the rings, like a guest that boots. */
void guest_clear_queue(struct guest *g);

/* ---- requests ------------------------------------------------------------ */

/* Write a request; guest_kick() sends all that were written. */
void guest_put(struct guest *g, uint32_t opcode, uint64_t node,
               const struct iovec *args, unsigned n_args);
void guest_kick(struct guest *g);

/* UNLINK or MKDIR in the root; count directories "folder<n>"; a WRITE of n. */
void guest_put_name(struct guest *g, uint32_t opcode, const char *name);
void guest_put_folders(struct guest *g, unsigned count);
void guest_put_write(struct guest *g, uint64_t node, uint64_t fh, unsigned n);

/* Return how many were answered; wait until exactly count were. */
unsigned guest_answered(struct guest *g);
void guest_wait_answered(struct guest *g, unsigned count);

/* Return the request that the n-th reply is for, and its error. */
unsigned guest_answer(struct guest *g, unsigned n, int *ret_error);

/* Expect this error of all these replies. */
void guest_expect_answers(struct guest *g, unsigned first, unsigned end,
                          int expected);

/* Expect a read on another queue to work. */
void guest_read_on(struct guest *g);

/* On the host: does the name exist; how many "folder..." exist? */
bool guest_exists(struct guest *g, const char *name);
unsigned guest_count_folders(struct guest *g);

/* ---- the agent ----------------------------------------------------------- */

/* Open a step and have the deletion of "victim", the first request, held. */
void guest_hold(struct guest *g);

void guest_confirm(struct guest *g, const char *action);
void guest_close_step(struct guest *g, bool denied);

#endif
