/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-fuse - requests of a FUSE client, handled by a server over a directory.
 *
 * An input is two bytes for the setup of the server, and requests
 * (fuzz_request.h), each after a byte. The first byte: bits 0-1, the cache; 2,
 * read-only; 3, POSIX locks; 4, flock; 5, an undo log; 6, within a step; 7,
 * which is rolled back at the end. The second: bit 0, no INIT. A request's
 * byte: bits 0-2, the size of the reply buffer; 3-4, its pieces; 5, a waiting
 * request is retried; 6, and left waiting; 7, the pieces of the request are
 * small.
 *
 * No file can grow beyond a limit but one, which is long and empty.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interceptor/interceptor.h"
#include "tests/fuzz/fuzz_request.h"
#include "tests/fuzz/fuzz_world.h"
#include "virtiofs/fuse/fuse_core.h"
#include "virtiofs/fuse/fuse_server.h"

enum { MAX_REQUESTS = 48, FILE_MAX = 4 << 20, STEP = 1 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fuzz_world world;
static struct fuse_scratch *scratch;

/* ---- pieces -------------------------------------------------------------- */

/* Each piece is a separate allocation, so that an access beyond it is found. */
struct pieces {
    struct iovec iov[FUSE_MAX_IOV];
    unsigned n;
    size_t size;
};

static void make_pieces(struct pieces *pieces, const void *bytes, size_t size,
                        size_t piece)
{
    const char *at = bytes;

    pieces->n = 0;
    pieces->size = size;
    piece = MAX(piece, size / FUSE_MAX_IOV + 1);
    for (size_t done = 0; done < size; done += piece) {
        struct iovec *iov = &pieces->iov[pieces->n++];

        iov->iov_len = MIN(piece, size - done);
        iov->iov_base = g_malloc(iov->iov_len);
        if (at)
            memcpy(iov->iov_base, at + done, iov->iov_len);
    }
}

static void free_pieces(struct pieces *pieces)
{
    for (unsigned i = 0; i < pieces->n; i++)
        g_free(pieces->iov[i].iov_base);
}

static void *join_pieces(const struct pieces *pieces, size_t len)
{
    char *joined = g_malloc(pieces->size + 1);
    size_t at = 0;

    for (unsigned i = 0; i < pieces->n && at < len; i++) {
        size_t n = MIN(pieces->iov[i].iov_len, len - at);

        memcpy(joined + at, pieces->iov[i].iov_base, n);
        at += n;
    }
    return joined;
}

/* ---- requests ------------------------------------------------------------ */

static size_t handle(struct fuse_server *server, uint8_t how,
                     const struct pieces *in, const struct pieces *out)
{
    size_t len = fuse_server_handle(server, scratch, in->iov, in->n, out->iov,
                                    out->n);

    if (len == FUSE_SERVER_PARKED && how & 0x20)
        len = fuse_server_handle(server, scratch, in->iov, in->n, out->iov,
                                 out->n);
    if (len != FUSE_SERVER_PARKED)
        return len;
    /* It waits until the server ends, or is interrupted. */
    return how & 0x40 ? 0
                      : fuse_server_refuse(server, scratch, in->iov, in->n,
                                           out->iov, out->n, -EINTR);
}

static void send(struct fuse_server *server, struct fuzz_client *client,
                 const GByteArray *request, uint8_t how)
{
    static const size_t rooms[] = { 4096, 0,   15,    16,
                                    104,  200, 65552, (1 << 20) + 16 };
    static const size_t cuts[] = { SIZE_MAX, 4096, 64, 13 };
    static struct pieces in, out;
    g_autofree void *answer = NULL;
    size_t room = rooms[how & 7], len;

    make_pieces(&in, request->data, request->len, how & 0x80 ? 7 : SIZE_MAX);
    make_pieces(&out, NULL, room, cuts[how >> 3 & 3]);
    len = handle(server, how, &in, &out);
    if (len > room)
        abort();
    answer = join_pieces(&out, len);
    fuzz_client_learn(client, request, answer, len, room);
    free_pieces(&in);
    free_pieces(&out);
}

static void run_script(struct fuse_server *server, struct fuzz_input *input,
                       bool init)
{
    struct fuzz_client client;

    fuzz_client_init(&client);
    if (init) {
        g_autoptr(GByteArray) request = fuzz_request_init(&client);

        send(server, &client, request, 0);
    }
    for (int i = 0; i < MAX_REQUESTS && input->left > 0; i++) {
        uint8_t how = fuzz_input_byte(input);
        g_autoptr(GByteArray) request = fuzz_request_make(&client, input);

        send(server, &client, request, how);
    }
    fuzz_client_clear(&client);
}

/* ---- set-up -------------------------------------------------------------- */

static void limit_files(rlim_t most)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        abort();
    limit.rlim_cur = MIN(most, limit.rlim_max);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        abort();
}

static void make_sparse(void)
{
    g_autofree char *path = g_build_filename(world.share, "sparse", NULL);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    limit_files(RLIM_INFINITY);
    if (fd < 0 || ftruncate(fd, (off_t)1 << 40) != 0)
        abort();
    limit_files(FILE_MAX);
    close(fd);
}

static void serve(struct ic *ic, uint8_t setup, uint8_t more,
                  struct fuzz_input *input)
{
    struct fuse_server_config config = {
        .cache = (enum fuse_cache)(setup & 3),
        .read_only = setup & 4,
        .posix_locks = setup & 8,
        .flocks = setup & 16,
    };
    struct fuse_server *server = fuse_server_new(ic, &config);

    if (setup & 64)
        ic_step_open(ic, STEP, IC_STEP_COMMAND, "fuzz", NULL);
    run_script(server, input, !(more & 1));
    fuse_core_reset(server);
    if (setup & 64)
        ic_step_close(ic, STEP, 0, 0, 0, NULL, NULL);
    if (setup & 128)
        ic_rollback(ic, 1, true, NULL, NULL);
    fuse_server_free(server);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    umask(0);
    scratch = fuse_scratch_new();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = { data, size };
    uint8_t setup = fuzz_input_byte(&input), more = fuzz_input_byte(&input);
    struct ic_options options = { .no_timer = true, .no_watch = true };
    struct ic *ic;

    signal(SIGXFSZ, SIG_IGN); /* libFuzzer sets it after the initialisation */
    fuzz_world_reset(&world);
    make_sparse();
    options.share = world.share;
    options.undo_dir = setup & 32 ? world.undo_dir : NULL;
    options.read_only = setup & 4;
    ic = ic_open_share(&options, NULL);
    if (!ic)
        abort();
    serve(ic, setup, more, &input);
    ic_close(ic);
    fuzz_world_check(&world);
    return 0;
}
