/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user_client - a front-end and a guest's driver, without a VM.
 *
 * For tests of a vhost-user-fs back-end. Guest memory is a memfd, mapped by the
 * back-end as two adjacent regions, so that buffers across regions can be made.
 * A missing reply fails the test.
 */
#ifndef TESTS_VHOST_USER_CLIENT_H
#define TESTS_VHOST_USER_CLIENT_H

#include <glib.h>
#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define CLIENT_MEMORY     (16u << 20)
#define CLIENT_QUEUE_SIZE 256
#define CLIENT_QUEUES     3 /* hiprio and two for requests */

/* Feature bits of the device, besides those that are always negotiated. */
#define CLIENT_EVENT_IDX (1ull << VIRTIO_RING_F_EVENT_IDX)
#define CLIENT_INDIRECT  (1ull << VIRTIO_RING_F_INDIRECT_DESC)
#define CLIENT_LOG_ALL   (1ull << 26)

struct client_queue {
    unsigned index;
    int kick, call, err;
    struct vring ring;
    uint16_t avail_idx, used_seen;
    uint32_t arena, arena_size; /* guest memory for requests */
};

struct client {
    GPid pid;
    char *folder; /* temporary: share/ and the socket */
    char *share;
    char **arguments;
    int socket;
    uint64_t features, protocol_features;
    int memory_fd;
    uint8_t *memory;
    struct client_queue queues[CLIENT_QUEUES];
    uint32_t thread; /* the guest's thread that sends requests; 0: 1 */
    uint32_t piece;  /* split buffers to this size; 0: whole */
};

/* Run the daemon on a new directory, with more arguments (NULL-terminated, may
 * be NULL), and connect; no message is sent yet. */
struct client *client_spawn(const char *const *arguments);

/* Negotiate (want: the feature bits above), share memory, start the queues. */
void client_start(struct client *client, uint64_t want);

/* client_spawn() and client_start(). */
struct client *client_new(uint64_t want, const char *const *arguments);

/* Kill the daemon, run another one with the same arguments, and connect. */
void client_restart(struct client *client);

/* Close the connection, expect exit status 0, remove the directory. */
void client_free(struct client *client);

/* Return the path of a file of the share on the host: a new string. */
char *client_host_path(const struct client *client, const char *name);

/* Wait for the daemon's exit; its status from exit(3), or -signal. */
int client_wait_exit(struct client *client);

/* Return the daemon's memory, in KiB; 0 in a build with AddressSanitizer, whose
 * own memory is too large to tell. */
unsigned long client_resident(const struct client *client);

/* Return the number of descriptors that the daemon has open, or a few more. */
unsigned client_count_fds(const struct client *client);

/* ---- messages ------------------------------------------------------------ */

/* Send a message; fds may be NULL. */
void client_send(struct client *client, uint32_t request, const void *payload,
                 uint32_t size, const int *fds, unsigned n_fds);

/* Send a message that has its own reply (payload may be NULL), and store that
 * in reply (size bytes). */
void client_ask(struct client *client, uint32_t request, const void *payload,
                uint32_t payload_size, void *reply, uint32_t size);

/* Send a message with need_reply: true if the back-end accepted it. */
bool client_tell(struct client *client, uint32_t request, const void *payload,
                 uint32_t size, const int *fds, unsigned n_fds);

/* Set a queue up (again) and enable it. */
void client_start_queue(struct client *client, unsigned index);

/* GET_VRING_BASE: stops it. */
uint32_t client_stop_queue(struct client *client, unsigned index);

/* ---- requests ------------------------------------------------------------ */

/* Put a request on a queue: in[] is copied into guest memory; out_size bytes of
 * it are for the reply. Only one request at a time may be in progress. */
void client_submit(struct client *client, unsigned queue,
                   const struct iovec *in, unsigned n_in, uint32_t out_size);

/* Make the chain available that starts at this descriptor, and kick. */
void client_kick(struct client *client, unsigned queue, uint16_t head);

/* Wait for one completion: the place of the reply and its length. */
const void *client_reap(struct client *client, unsigned queue,
                        uint32_t *ret_len);

/* Expect no completion for this time. */
void client_expect_silence(struct client *client, unsigned queue,
                           int timeout_ms);

/* Wait until the queue's err eventfd says that it is broken. */
void client_expect_broken(struct client *client, unsigned queue);

/* Expect the process to live and answer messages. */
void client_expect_alive(struct client *client);

#endif
