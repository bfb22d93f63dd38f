/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-vhost-user - messages of a front-end, and rings of a hostile driver.
 *
 * An input is one byte and scripts. The byte: bit 0, rings (else messages); bit
 * 1, EVENT_IDX; bit 2, a log of dirty pages; bit 3, odd sizes and addresses
 * follow; bit 4, the server was not sent INIT. Rings: the driver's acts
 * (fuzz_guest.h), which only the virtqueue's code reads, in this thread;
 * requests found there are handled. Messages: the driver's acts, and then
 * messages (fuzz_frontend.h), to the whole back-end with its threads.
 *
 * The share is read-only, so that an input always has the same effect.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interceptor/interceptor.h"
#include "tests/fuzz/fuzz_frontend.h"
#include "tests/fuzz/fuzz_guest.h"
#include "tests/fuzz/fuzz_world.h"
#include "virtiofs/fuse/fuse_server.h"
#include "virtiofs/vhost/virtqueue.h"

enum { MAX_ROUNDS = 4, MAX_POPS = 40, LOG_SIZE = 1 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fuzz_world world;
static struct fuzz_guest guest;
static struct ic *ic;
static struct fuse_scratch *scratch;
static struct virtqueue_chain chain;

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* ---- rings --------------------------------------------------------------- */

struct device {
    struct guest_memory *memory;
    struct dirty_log log;
    struct virtqueue vq;
};

static void add_region(struct guest_memory *memory, uint64_t at)
{
    struct guest_region region = { .guest_address = at,
                                   .size = GUEST_HALF,
                                   .user_address = GUEST_USER + at,
                                   .mmap_offset = at };

    must(guest_memory_add(memory, &region, guest.fd) == 0);
}

static void start_device(struct device *device, uint8_t setup,
                         struct fuzz_input *input)
{
    struct virtqueue *vq = &device->vq;

    *device = (struct device){ .memory = guest_memory_new() };
    add_region(device->memory, 0);
    add_region(device->memory, GUEST_HALF);
    virtqueue_init(vq, device->memory, &device->log);
    vq->event_idx = setup & 2;
    vq->log_used = setup & 4;
    device->log.enabled = setup & 4;
    if (setup & 4)
        dirty_log_map(&device->log, guest.fd, GUEST_SIZE - LOG_SIZE, LOG_SIZE);
    virtqueue_set_size(vq, GUEST_QUEUE_SIZE);
    vq->desc_address = GUEST_USER;
    vq->avail_address = GUEST_USER + GUEST_AVAIL;
    vq->used_address = GUEST_USER + GUEST_USED;
    vq->has_addresses = true;
    if (setup & 8) {
        virtqueue_set_size(vq, (unsigned)fuzz_input_number(input));
        vq->desc_address += fuzz_input_number(input);
        vq->avail_address += fuzz_input_number(input);
        vq->used_address += fuzz_input_number(input);
        vq->used_log_address = fuzz_input_number(input);
        vq->last_avail = (uint16_t)fuzz_input_number(input);
    }
}

static void end_device(struct device *device)
{
    dirty_log_unmap(&device->log);
    guest_memory_free(device->memory);
}

/* Each piece is within memory, from its first to its last byte. */
static void check_chain(const struct device *device)
{
    must(chain.n_in <= VIRTQUEUE_MAX_SEGMENTS &&
         chain.n_out <= VIRTQUEUE_MAX_SEGMENTS - chain.n_in);
    for (unsigned i = 0; i < chain.n_in + chain.n_out; i++) {
        const char *start = chain.iov[i].iov_base;
        size_t len = chain.iov[i].iov_len;
        uint64_t first, last;

        must(len > 0);
        must(guest_memory_address_of(device->memory, start, &first));
        must(guest_memory_address_of(device->memory, start + len - 1, &last));
        must(last - first == len - 1 && last < GUEST_SIZE);
    }
}

static void handle_chain(struct fuse_server *server, struct device *device)
{
    const struct iovec *out = chain.iov + chain.n_in;
    size_t len;

    check_chain(device);
    len = fuse_server_handle(server, scratch, chain.iov, chain.n_in, out,
                             chain.n_out);
    if (len == FUSE_SERVER_PARKED)
        len = fuse_server_refuse(server, scratch, chain.iov, chain.n_in, out,
                                 chain.n_out, -EINTR);
    virtqueue_push(&device->vq, &chain, (uint32_t)len);
    virtqueue_must_signal(&device->vq);
}

static void run_device(struct fuse_server *server, struct device *device)
{
    struct virtqueue *vq = &device->vq;

    if (virtqueue_map(vq) != 0)
        return;
    virtqueue_start(vq);
    virtqueue_disable_kicks(vq);
    for (int i = 0; i < MAX_POPS && virtqueue_pop(vq, &chain) > 0; i++)
        handle_chain(server, device);
    /* Like a request that was parked, whatever became of it. */
    if (!vq->broken && virtqueue_again(vq, chain.head, &chain) > 0)
        handle_chain(server, device);
    virtqueue_enable_kicks(vq);
}

static void fuzz_rings(struct fuse_server *server, uint8_t setup,
                       struct fuzz_input *input)
{
    struct device device;

    start_device(&device, setup, input);
    for (int i = 0; i < MAX_ROUNDS && input->left > 0; i++) {
        fuzz_guest_run(&guest, input);
        run_device(server, &device);
    }
    end_device(&device);
}

/* ---- set-up -------------------------------------------------------------- */

static void start_client(struct fuse_server *server)
{
    g_autoptr(GByteArray) request = fuzz_request_init(&guest.client);
    struct fuse_init_out reply[2];
    struct iovec in = { request->data, request->len };
    struct iovec out = { reply, sizeof(reply) };

    must(fuse_server_handle(server, scratch, &in, 1, &out, 1) > 16);
}

static void open_share(void)
{
    struct ic_options options = { .no_timer = true,
                                  .no_watch = true,
                                  .read_only = true };

    fuzz_world_reset(&world);
    options.share = world.share;
    ic = ic_open_share(&options, NULL);
    must(ic != NULL);
    scratch = fuse_scratch_new();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    umask(0);
    open_share();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuse_server_config config = { .posix_locks = true, .flocks = true };
    struct fuzz_input input = { data, size };
    uint8_t setup = fuzz_input_byte(&input);
    struct fuse_server *server = fuse_server_new(ic, &config);

    fuzz_guest_reset(&guest);
    if (!(setup & 16))
        start_client(server);
    if (setup & 1)
        fuzz_rings(server, setup, &input);
    else
        fuzz_frontend_run(server, &guest, &input);
    fuzz_guest_clear(&guest);
    fuse_server_free(server);
    fuzz_world_check(&world);
    return 0;
}
