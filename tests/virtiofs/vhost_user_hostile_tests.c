/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user_hostile_tests - FUSE requests that break the rules.
 *
 * The guest gets an error, and the daemon continues to serve.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/virtiofs/fuse_client.h"
#include "tests/virtiofs/vhost_user_tests.h"
#include "virtiofs/vhost/vu_message.h"

/* ---- requests ------------------------------------------------------------ */

static void test_before_init(void)
{
    struct client *client = client_new(0, NULL);
    struct fuse_entry_out entry;
    struct fuse_attr attr;

    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, -EIO);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "x", &entry), ==, -EIO);
    fuse_client_forget(client, ROOT, 1);
    fuse_client_init(client);
    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, 0);
    client_free(client);
}

static bool has_reply(uint32_t opcode)
{
    return opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET &&
           opcode != FUSE_INTERRUPT;
}

/* Each opcode but INIT, with arguments of zeros. */
static void expect_no_client(struct client *client)
{
    char zeros[128] = { 0 };

    for (uint32_t opcode = 1; opcode <= FUSE_STATX; opcode++) {
        struct fuse_in_header head = { .len = sizeof(head) + sizeof(zeros),
                                       .opcode = opcode,
                                       .nodeid = ROOT };
        struct iovec in[] = { PIECE(head), PIECE(zeros) };
        const struct fuse_out_header *out;
        uint32_t len;

        if (opcode == FUSE_INIT || opcode == FUSE_DESTROY)
            continue;
        client_submit(client, FUSE_QUEUE, in, 2, 512);
        out = client_reap(client, FUSE_QUEUE, &len);
        if (len == 0) {
            g_assert_false(has_reply(opcode));
            continue;
        }
        g_assert_cmpuint(len, ==, sizeof(*out));
        g_assert_true(out->error == -EIO || out->error == -ENOSYS);
    }
}

static void test_all_before_init(void)
{
    static const char *const locks[] = { "--posix-lock", "--flock", NULL };
    struct client *client = client_new(0, locks);

    expect_no_client(client);
    fuse_client_init(client);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_DESTROY, 0, NULL,
                                     0, 0, NULL, NULL),
                    ==, 0);
    expect_no_client(client);
    client_free(client);
}

/* Send these raw bytes as a request: returns the error of the reply. */
static int send_raw(struct client *client, const void *bytes, uint32_t size,
                    uint32_t room)
{
    struct iovec in = { (void *)bytes, size };
    const struct fuse_out_header *out;
    uint32_t len;

    client_submit(client, FUSE_QUEUE, &in, size > 0 ? 1 : 0, room);
    out = client_reap(client, FUSE_QUEUE, &len);
    if (room < sizeof(*out)) {
        g_assert_cmpuint(len, ==, 0);
        return 0;
    }
    g_assert_cmpuint(len, ==, out->len);
    return out->error;
}

static void test_short(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_in_header head = { .len = sizeof(head),
                                   .opcode = FUSE_GETATTR,
                                   .nodeid = ROOT };

    for (uint32_t size = 0; size < sizeof(head); size += 13)
        g_assert_cmpint(send_raw(client, &head, size, 200), ==, -EINVAL);
    /* No arguments. */
    g_assert_cmpint(send_raw(client, &head, sizeof(head), 200), ==, -EINVAL);
    /* No room for the reply, or for any. */
    head.opcode = FUSE_STATFS;
    g_assert_cmpint(send_raw(client, &head, sizeof(head), 20), ==, -EINVAL);
    g_assert_cmpint(send_raw(client, &head, sizeof(head), 16), ==, -EINVAL);
    g_assert_cmpint(send_raw(client, &head, sizeof(head), 15), ==, 0);
    g_assert_cmpint(send_raw(client, &head, sizeof(head), 0), ==, 0);
    g_assert_cmpint(send_raw(client, &head, sizeof(head), 200), ==, 0);
    client_free(client);
}

static void test_lying_length(void)
{
    struct client *client = fuse_client_new(0, NULL);
    static const uint32_t lies[] = { 0, 39, 41, 1 << 20, UINT32_MAX };
    struct fuse_in_header head = { .opcode = FUSE_STATFS, .nodeid = ROOT };

    for (size_t i = 0; i < G_N_ELEMENTS(lies); i++) {
        head.len = lies[i];
        g_assert_cmpint(send_raw(client, &head, sizeof(head), 200), ==,
                        -EINVAL);
    }
    client_free(client);
}

static void test_opcodes(void)
{
    struct client *client = fuse_client_new(0, NULL);
    static const uint32_t opcodes[] = { 0,  7,    19,  FUSE_SETLK, FUSE_IOCTL,
                                        53, 4096, ~0u, FUSE_POLL };
    struct fuse_in_header head = { .len = sizeof(head), .nodeid = ROOT };

    for (size_t i = 0; i < G_N_ELEMENTS(opcodes); i++) {
        head.opcode = opcodes[i];
        g_assert_cmpint(send_raw(client, &head, sizeof(head), 200), ==,
                        -ENOSYS);
    }
    client_free(client);
}

/* A request of each opcode with random arguments: each gets a reply. */
static void test_noise(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_attr attr;

    for (int i = 0; i < 3000; i++) {
        char bytes[300];
        struct fuse_in_header *head = (struct fuse_in_header *)bytes;
        const struct iovec in = { bytes, sizeof(bytes) };
        uint32_t len;

        /* The random data has DESTROYs in it. */
        if (i % 16 == 0)
            fuse_client_init(client);
        for (size_t k = 0; k < sizeof(bytes); k++)
            bytes[k] = (char)g_test_rand_int_range(0, 256);
        head->len = (uint32_t)g_test_rand_int_range(40, 301);
        head->opcode = (uint32_t)g_test_rand_int_range(1, 54);
        head->nodeid = g_test_rand_bit() ? ROOT : (uint64_t)i;
        if (g_test_rand_bit())
            memset(bytes + 40, 0, 16);
        client_submit(client, FUSE_QUEUE, &in, 1, 4096);
        client_reap(client, FUSE_QUEUE, &len);
        g_assert_cmpuint(len, <=, 4096);
    }
    client_expect_alive(client);
    fuse_client_init(client);
    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, 0);
    client_free(client);
}

static void test_ids(void)
{
    struct client *client = fuse_client_new(0, NULL);
    static const uint64_t ids[] = {
        0,          2,          99,        1ull << 32, (1ull << 32) + 1,
        1ull << 63, UINT64_MAX, UINT32_MAX
    };
    struct fuse_attr attr;
    const void *data;

    for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
        g_assert_cmpint(fuse_client_getattr(client, ids[i], &attr), ==,
                        -ESTALE);
        g_assert_cmpint(fuse_client_read(client, ids[i], 0, 10, &data), ==,
                        -EBADF);
        g_assert_cmpint(fuse_client_write(client, ids[i], 0, "x", 1, 0), ==,
                        -EBADF);
        g_assert_cmpint(
            fuse_client_readdir(client, FUSE_READDIR, ids[i], 0, 4096, &data),
            ==, -EBADF);
        g_assert_cmpint(fuse_client_release(client, FUSE_RELEASE, ROOT, ids[i]),
                        ==, -EBADF);
    }
    client_free(client);
}

/* A file's handle is not valid for directories, nor the reverse. */
static void test_mixed_handles(void)
{
    struct client *client = fuse_client_new(0, NULL);
    uint64_t node, file, dir;
    const void *data;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &file),
                    ==, 0);
    g_assert_cmpint(fuse_client_opendir(client, ROOT, &dir), ==, 0);
    g_assert_cmpint(fuse_client_read(client, dir, 0, 10, &data), ==, -EBADF);
    g_assert_cmpint(
        fuse_client_readdir(client, FUSE_READDIR, file, 0, 4096, &data), ==,
        -EBADF);
    client_free(client);
}

static int lseek_handle(struct client *client, uint64_t fh)
{
    struct fuse_lseek_in in = { .fh = fh, .whence = SEEK_DATA };
    struct iovec args[] = { PIECE(in) };

    return fuse_client_call(client, FUSE_QUEUE, FUSE_LSEEK, ROOT, args, 1, 8,
                            NULL, NULL);
}

static int fallocate_handle(struct client *client, uint64_t fh)
{
    struct fuse_fallocate_in in = { .fh = fh, .length = 4096 };
    struct iovec args[] = { PIECE(in) };

    return fuse_client_call(client, FUSE_QUEUE, FUSE_FALLOCATE, ROOT, args, 1,
                            0, NULL, NULL);
}

static int sync_handle(struct client *client, uint32_t opcode, uint64_t fh)
{
    struct fuse_fsync_in in = { .fh = fh };
    struct iovec args[] = { PIECE(in) };

    return fuse_client_call(client, FUSE_QUEUE, opcode, ROOT, args, 1, 0, NULL,
                            NULL);
}

static int copy_handles(struct client *client, uint64_t from, uint64_t to)
{
    struct fuse_copy_file_range_in in = { .fh_in = from,
                                          .fh_out = to,
                                          .len = UINT64_MAX };
    struct iovec args[] = { PIECE(in) };

    return fuse_client_call(client, FUSE_QUEUE, FUSE_COPY_FILE_RANGE, ROOT,
                            args, 1, 8, NULL, NULL);
}

static void expect_no_file(struct client *client, uint64_t fh, uint64_t good)
{
    struct fuse_setattr_in in = { .valid = FATTR_FH | FATTR_SIZE, .fh = fh };
    struct fuse_attr attr;
    const void *data;

    g_assert_cmpint(fuse_client_read(client, fh, 0, 10, &data), ==, -EBADF);
    g_assert_cmpint(fuse_client_write(client, fh, 0, "x", 1, 0), ==, -EBADF);
    g_assert_cmpint(lseek_handle(client, fh), ==, -EBADF);
    g_assert_cmpint(fallocate_handle(client, fh), ==, -EBADF);
    g_assert_cmpint(sync_handle(client, FUSE_FSYNC, fh), ==, -EBADF);
    g_assert_cmpint(copy_handles(client, fh, good), ==, -EBADF);
    g_assert_cmpint(copy_handles(client, good, fh), ==, -EBADF);
    g_assert_cmpint(fuse_client_setattr(client, ROOT, &in, &attr), ==, -EBADF);
}

/* For each opcode that takes a file's handle, also with handles of files that
 * are closed, or open only for reading. */
static void test_no_files(void)
{
    struct client *client = fuse_client_new(0, NULL);
    uint64_t node, file, dir, closed, readable;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &file),
                    ==, 0);
    g_assert_cmpint(fuse_client_opendir(client, ROOT, &dir), ==, 0);
    g_assert_cmpint(fuse_client_open(client, node, O_RDWR, 0, &closed), ==, 0);
    g_assert_cmpint(fuse_client_release(client, FUSE_RELEASE, node, closed), ==,
                    0);
    g_assert_cmpint(fuse_client_release(client, FUSE_RELEASE, node, closed), ==,
                    -EBADF);
    expect_no_file(client, dir, file);
    expect_no_file(client, closed, file);
    g_assert_cmpint(sync_handle(client, FUSE_FSYNCDIR, file), ==, -EBADF);
    g_assert_cmpint(fuse_client_open(client, node, O_RDONLY, 0, &readable), ==,
                    0);
    g_assert_cmpint(fuse_client_write(client, readable, 0, "x", 1, 0), ==,
                    -EBADF);
    g_assert_cmpint(fallocate_handle(client, readable), ==, -EBADF);
    g_assert_cmpint(copy_handles(client, file, readable), ==, -EBADF);
    client_free(client);
}

/* The other queue belongs to the same client: INIT there ends it as well. */
static void test_init_elsewhere(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_init_in in = { .major = 7, .minor = 41 };
    struct iovec args[] = { PIECE(in) };
    struct fuse_attr attr;
    uint64_t node, fh;

    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(
            fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh), ==, 0);
        g_assert_cmpint(fuse_client_call(client, i % 2 ? 0 : 2, FUSE_INIT, 0,
                                         args, 1, sizeof(struct fuse_init_out),
                                         NULL, NULL),
                        ==, 0);
        g_assert_cmpint(fuse_client_getattr(client, node, &attr), ==, -ESTALE);
        expect_no_file(client, fh, fh);
    }
    client_free(client);
}

/* For unknown requests, for completed ones, and for itself. */
static void test_interrupt_nobody(void)
{
    struct client *client = fuse_client_new(0, NULL);
    static const uint64_t uniques[] = { 0, 1, 2, UINT64_MAX, 1ull << 63 };
    struct fuse_attr attr;

    for (unsigned i = 0; i < 200; i++) {
        struct fuse_interrupt_in arg = {
            .unique = uniques[i % G_N_ELEMENTS(uniques)]
        };
        struct fuse_in_header head = { .len = sizeof(head) + sizeof(arg),
                                       .opcode = FUSE_INTERRUPT,
                                       .unique = arg.unique };
        struct iovec in[] = { PIECE(head), PIECE(arg) };
        uint32_t len;

        client_submit(client, i % 3, in, 2, i % 2 ? 100 : 0);
        client_reap(client, i % 3, &len);
        g_assert_cmpuint(len, ==, 0);
        g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, 0);
    }
    client_free(client);
}

/* Opening one must neither wait for its other end nor reach a device. */
static void test_special_files(void)
{
    static const uint32_t types[] = { S_IFIFO, S_IFSOCK, S_IFCHR };
    static const char *const names[] = { "fifo", "socket", "device" };
    struct client *client = fuse_client_new(0, NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        struct fuse_mknod_in in = { .mode = types[i] | 0666, .rdev = 0x103 };
        struct iovec args[] = { PIECE(in),
                                { (void *)names[i], strlen(names[i]) + 1 } };
        struct fuse_entry_out entry;
        uint64_t node, fh;
        int r = fuse_client_call(client, FUSE_QUEUE, FUSE_MKNOD, ROOT, args, 2,
                                 sizeof(entry), NULL, NULL);

        if (r == -EPERM && types[i] == S_IFCHR)
            continue; /* not possible for an ordinary user */
        g_assert_cmpint(r, ==, 0);
        g_assert_cmpint(fuse_client_lookup(client, ROOT, names[i], &entry), ==,
                        0);
        for (uint32_t mode = O_RDONLY; mode <= O_RDWR; mode++) {
            g_assert_cmpint(
                fuse_client_open(client, entry.nodeid, mode, 0, &fh), ==,
                -ENXIO);
            g_assert_cmpint(
                fuse_client_create(client, ROOT, names[i], mode, &node, &fh),
                ==, -ENXIO);
        }
        g_assert_cmpint(fuse_client_opendir(client, entry.nodeid, &fh), ==,
                        -ENOTDIR);
    }
    client_free(client);
}

static void test_oversize(void)
{
    struct client *client = fuse_client_new(0, NULL);
    g_autofree char *bytes = g_malloc0(200000);
    struct iovec args = { bytes, 200000 };
    struct fuse_write_in write_in = { .size = 100 };
    struct iovec write_args[] = { PIECE(write_in), { bytes, 99 } };
    uint64_t node;

    memset(bytes, 'n', 199999);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_LOOKUP, ROOT,
                                     &args, 1, 128, NULL, NULL),
                    ==, -E2BIG);
    g_assert_cmpint(
        fuse_client_create(client, ROOT, "f", O_RDWR, &node, &write_in.fh), ==,
        0);
    /* One byte less than announced. */
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_WRITE, node,
                                     write_args, 2, 8, NULL, NULL),
                    ==, -EINVAL);
    client_free(client);
}

static void test_read_beyond_room(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_read_in in = { .size = 1 << 20 };
    struct iovec args[] = { PIECE(in) };
    uint64_t node;

    g_assert_cmpint(
        fuse_client_create(client, ROOT, "f", O_RDWR, &node, &in.fh), ==, 0);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_READ, node, args,
                                     1, 4096, NULL, NULL),
                    ==, -EINVAL);
    in.size = 4096;
    in.offset = 1ull << 63;
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_READ, node, args,
                                     1, 4096, NULL, NULL),
                    ==, -EINVAL);
    client_free(client);
}

static void test_batch_forget(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct {
        struct fuse_in_header head;
        struct fuse_batch_forget_in in;
        struct fuse_forget_one one;
    } request = {
        .head = { .len = sizeof(request), .opcode = FUSE_BATCH_FORGET },
        .in = { .count = UINT32_MAX }, /* there is only one */
        .one = { .nodeid = 77, .nlookup = 3 },
    };
    struct iovec in = PIECE(request);
    struct fuse_attr attr;
    uint32_t len;

    client_submit(client, 0, &in, 1, 0);
    client_reap(client, 0, &len);
    g_assert_cmpuint(len, ==, 0);
    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, 0);
    client_free(client);
}

void add_vhost_user_hostile_tests(void)
{
    g_test_add_func("/vhost-user/hostile/before-init", test_before_init);
    g_test_add_func("/vhost-user/hostile/all-before-init",
                    test_all_before_init);
    g_test_add_func("/vhost-user/hostile/init-elsewhere", test_init_elsewhere);
    g_test_add_func("/vhost-user/hostile/interrupt-nobody",
                    test_interrupt_nobody);
    g_test_add_func("/vhost-user/hostile/special-files", test_special_files);
    g_test_add_func("/vhost-user/hostile/no-files", test_no_files);
    g_test_add_func("/vhost-user/hostile/short", test_short);
    g_test_add_func("/vhost-user/hostile/lying-length", test_lying_length);
    g_test_add_func("/vhost-user/hostile/opcodes", test_opcodes);
    g_test_add_func("/vhost-user/hostile/noise", test_noise);
    g_test_add_func("/vhost-user/hostile/ids", test_ids);
    g_test_add_func("/vhost-user/hostile/mixed-handles", test_mixed_handles);
    g_test_add_func("/vhost-user/hostile/oversize", test_oversize);
    g_test_add_func("/vhost-user/hostile/read-beyond-room",
                    test_read_beyond_room);
    g_test_add_func("/vhost-user/hostile/batch-forget", test_batch_forget);
}
