/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user_lock_tests - a guest's locks, in the sandboxed daemon.
 *
 * A waiting request does not delay others, can be interrupted, and ends with
 * its client. tests/daemon/locks.py has what programs see of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/virtiofs/fuse_client.h"
#include "tests/virtiofs/vhost_user_tests.h"

enum { WAIT_QUEUE = 2, SILENCE_MS = 100, UNIQUE = 1000001 };

struct rig {
    struct client *client;
    uint64_t node, fh;
};

static const char *const with_locks[] = { "--posix-lock", "--flock", NULL };

static struct rig start(const char *const *arguments)
{
    struct rig rig = { .client = fuse_client_new(0, arguments) };

    g_assert_cmpint(
        fuse_client_create(rig.client, ROOT, "f", O_RDWR, &rig.node, &rig.fh),
        ==, 0);
    return rig;
}

static struct fuse_lk_in lock_of(const struct rig *rig, uint64_t owner,
                                 uint32_t type, uint64_t first, uint64_t last)
{
    return (struct fuse_lk_in){ .fh = rig->fh,
                                .owner = owner,
                                .lk = { first, last, type, 1 } };
}

static int call(const struct rig *rig, uint32_t opcode, struct fuse_lk_in in,
                struct fuse_lk_out *ret_out)
{
    struct iovec args[] = { { &in, sizeof(in) } };
    const void *reply;
    uint32_t len;
    int r = fuse_client_call(rig->client, FUSE_QUEUE, opcode, rig->node, args,
                             1, sizeof(*ret_out), &reply, &len);

    if (r == 0 && ret_out) {
        g_assert_cmpuint(len, ==, sizeof(*ret_out));
        memcpy(ret_out, reply, sizeof(*ret_out));
    }
    return r;
}

/* SETLKW on the other queue; its reply comes later. */
static void wait_for(const struct rig *rig, struct fuse_lk_in in)
{
    struct fuse_in_header head = { .len = sizeof(head) + sizeof(in),
                                   .opcode = FUSE_SETLKW,
                                   .unique = UNIQUE,
                                   .nodeid = rig->node };
    struct iovec pieces[] = { { &head, sizeof(head) }, { &in, sizeof(in) } };

    client_submit(rig->client, WAIT_QUEUE, pieces, 2,
                  sizeof(struct fuse_out_header));
}

static int take_answer(const struct rig *rig)
{
    struct fuse_out_header out;
    uint32_t len;

    memcpy(&out, client_reap(rig->client, WAIT_QUEUE, &len), sizeof(out));
    g_assert_cmpuint(out.unique, ==, UNIQUE);
    return out.error;
}

static void interrupt(const struct rig *rig)
{
    struct fuse_interrupt_in in = { .unique = UNIQUE };
    struct fuse_in_header head = { .len = sizeof(head) + sizeof(in),
                                   .opcode = FUSE_INTERRUPT,
                                   .unique = UNIQUE | 1 };
    struct iovec pieces[] = { { &head, sizeof(head) }, { &in, sizeof(in) } };
    uint32_t len;

    client_submit(rig->client, 0, pieces, 2, 0);
    client_reap(rig->client, 0, &len);
}

static void flush(const struct rig *rig, uint64_t owner)
{
    struct fuse_flush_in in = { .fh = rig->fh, .lock_owner = owner };
    struct iovec args[] = { { &in, sizeof(in) } };

    g_assert_cmpint(fuse_client_call(rig->client, FUSE_QUEUE, FUSE_FLUSH,
                                     rig->node, args, 1, 0, NULL, NULL),
                    ==, 0);
}

static void test_conflict(void)
{
    struct rig rig = start(with_locks);
    struct fuse_lk_out out;

    g_assert_cmpint(
        call(&rig, FUSE_SETLK, lock_of(&rig, 1, F_WRLCK, 10, 19), NULL), ==, 0);
    g_assert_cmpint(
        call(&rig, FUSE_SETLK, lock_of(&rig, 2, F_RDLCK, 19, 19), NULL), ==,
        -EAGAIN);
    g_assert_cmpint(
        call(&rig, FUSE_SETLK, lock_of(&rig, 2, F_WRLCK, 20, 29), NULL), ==, 0);
    g_assert_cmpint(
        call(&rig, FUSE_GETLK, lock_of(&rig, 2, F_WRLCK, 0, INT64_MAX), &out),
        ==, 0);
    g_assert_cmpuint(out.lk.type, ==, F_WRLCK);
    g_assert_cmpuint(out.lk.start, ==, 10);
    g_assert_cmpuint(out.lk.end, ==, 19);
    flush(&rig, 1);
    g_assert_cmpint(
        call(&rig, FUSE_GETLK, lock_of(&rig, 2, F_WRLCK, 0, INT64_MAX), &out),
        ==, 0);
    g_assert_cmpuint(out.lk.type, ==, F_UNLCK);
    client_free(rig.client);
}

static void test_wait(void)
{
    struct rig rig = start(with_locks);
    struct fuse_attr attr;

    g_assert_cmpint(
        call(&rig, FUSE_SETLK, lock_of(&rig, 1, F_WRLCK, 0, 9), NULL), ==, 0);
    wait_for(&rig, lock_of(&rig, 2, F_WRLCK, 5, 5));
    for (int i = 0; i < 100; i++)
        g_assert_cmpint(fuse_client_getattr(rig.client, rig.node, &attr), ==,
                        0);
    client_expect_silence(rig.client, WAIT_QUEUE, SILENCE_MS);
    g_assert_cmpint(
        call(&rig, FUSE_SETLK, lock_of(&rig, 1, F_UNLCK, 0, 9), NULL), ==, 0);
    g_assert_cmpint(take_answer(&rig), ==, 0);
    g_assert_cmpint(
        call(&rig, FUSE_SETLK, lock_of(&rig, 1, F_WRLCK, 5, 5), NULL), ==,
        -EAGAIN);
    client_free(rig.client);
}

static void test_interrupt(void)
{
    struct rig rig = start(with_locks);

    for (int i = 0; i < 20; i++) {
        g_assert_cmpint(
            call(&rig, FUSE_SETLK, lock_of(&rig, 1, F_WRLCK, 0, 9), NULL), ==,
            0);
        wait_for(&rig, lock_of(&rig, 2, F_WRLCK, 0, 9));
        if (i % 2)
            g_usleep(5000);
        interrupt(&rig);
        g_assert_cmpint(take_answer(&rig), ==, -EINTR);
        g_assert_cmpint(
            call(&rig, FUSE_SETLK, lock_of(&rig, 1, F_UNLCK, 0, 9), NULL), ==,
            0);
        /* The lock is free. */
        g_assert_cmpint(
            call(&rig, FUSE_SETLK, lock_of(&rig, 3, F_WRLCK, 0, 9), NULL), ==,
            0);
        flush(&rig, 3);
    }
    client_free(rig.client);
}

/* The client disconnects while it waits. */
static void test_gone(void)
{
    struct rig rig = start(with_locks);

    g_assert_cmpint(
        call(&rig, FUSE_SETLK, lock_of(&rig, 1, F_WRLCK, 0, 9), NULL), ==, 0);
    wait_for(&rig, lock_of(&rig, 2, F_WRLCK, 0, 9));
    client_expect_silence(rig.client, WAIT_QUEUE, SILENCE_MS);
    client_free(rig.client); /* expects status 0 of the daemon */
}

/* The guest's kernel restarts and keeps nothing. */
static void test_reboot(void)
{
    struct rig rig = start(with_locks);

    g_assert_cmpint(
        call(&rig, FUSE_SETLK, lock_of(&rig, 1, F_WRLCK, 0, 9), NULL), ==, 0);
    wait_for(&rig, lock_of(&rig, 2, F_WRLCK, 0, 9));
    fuse_client_init(rig.client);
    g_assert_cmpint(take_answer(&rig), <, 0);
    g_assert_cmpint(
        fuse_client_create(rig.client, ROOT, "f", O_RDWR, &rig.node, &rig.fh),
        ==, 0);
    g_assert_cmpint(
        call(&rig, FUSE_SETLK, lock_of(&rig, 2, F_WRLCK, 0, 9), NULL), ==, 0);
    client_free(rig.client);
}

static void test_hostile(void)
{
    struct rig rig = start(with_locks);
    struct fuse_lk_in in = lock_of(&rig, 1, 77, 0, 9);
    int r;

    g_assert_cmpint(call(&rig, FUSE_SETLK, in, NULL), ==, -EINVAL);
    in = lock_of(&rig, 1, F_WRLCK, UINT64_MAX, UINT64_MAX);
    g_assert_cmpint(call(&rig, FUSE_SETLK, in, NULL), ==, -EINVAL);
    in = lock_of(&rig, 1, F_WRLCK, 10, 9);
    g_assert_cmpint(call(&rig, FUSE_SETLKW, in, NULL), ==, -EINVAL);
    in = lock_of(&rig, 1, F_WRLCK, INT64_MAX, UINT64_MAX);
    g_assert_cmpint(call(&rig, FUSE_SETLK, in, NULL), ==, 0);
    in = lock_of(&rig, 1, F_WRLCK, 0, 9);
    in.fh = 12345;
    g_assert_cmpint(call(&rig, FUSE_SETLK, in, NULL), ==, -EBADF);
    /* An unlimited number of owners. */
    r = 0;
    for (uint64_t owner = 2; r == 0; owner++) {
        g_assert_cmpuint(owner, <, 10000);
        r = call(&rig, FUSE_SETLK, lock_of(&rig, owner, F_RDLCK, 0, 0), NULL);
    }
    g_assert_cmpint(r, ==, -ENOLCK);
    flush(&rig, 2);
    r = call(&rig, FUSE_SETLK, lock_of(&rig, 20000, F_RDLCK, 0, 0), NULL);
    g_assert_cmpint(r, ==, 0);
    client_free(rig.client);
}

/* Without the option the guest's kernel is not offered to send them. */
static void test_not_offered(void)
{
    struct client *client = client_new(0, NULL);
    struct fuse_init_out out = fuse_client_init(client);

    g_assert_cmpuint(out.flags & (FUSE_POSIX_LOCKS | FUSE_FLOCK_LOCKS), ==, 0);
    client_free(client);
    client = client_new(0, with_locks);
    out = fuse_client_init(client);
    g_assert_cmpuint(out.flags & (FUSE_POSIX_LOCKS | FUSE_FLOCK_LOCKS), ==,
                     FUSE_POSIX_LOCKS | FUSE_FLOCK_LOCKS);
    client_free(client);
}

/* It sends them nevertheless. */
static void test_unwanted(gconstpointer option)
{
    const char *arguments[] = { option, NULL };
    struct rig rig = start(option ? arguments : NULL);
    bool posix = g_strcmp0(option, "--posix-lock") == 0;
    bool flocks = g_strcmp0(option, "--flock") == 0;
    struct fuse_lk_in in = lock_of(&rig, 1, F_WRLCK, 0, 9);

    for (uint32_t opcode = FUSE_GETLK; opcode <= FUSE_SETLKW; opcode++)
        g_assert_cmpint(call(&rig, opcode, in, NULL), ==, posix ? 0 : -ENOSYS);
    in.lk_flags = FUSE_LK_FLOCK;
    in.lk.end = INT64_MAX;
    g_assert_cmpint(call(&rig, FUSE_SETLK, in, NULL), ==, flocks ? 0 : -ENOSYS);
    g_assert_cmpint(call(&rig, FUSE_SETLKW, in, NULL), ==,
                    flocks ? 0 : -ENOSYS);
    client_free(rig.client);
}

void add_vhost_user_lock_tests(void)
{
    g_test_add_func("/locks/conflict", test_conflict);
    g_test_add_func("/locks/wait", test_wait);
    g_test_add_func("/locks/interrupt", test_interrupt);
    g_test_add_func("/locks/gone", test_gone);
    g_test_add_func("/locks/reboot", test_reboot);
    g_test_add_func("/locks/hostile", test_hostile);
    g_test_add_func("/locks/not-offered", test_not_offered);
    g_test_add_data_func("/locks/unwanted/none", NULL, test_unwanted);
    g_test_add_data_func("/locks/unwanted/posix", "--posix-lock",
                         test_unwanted);
    g_test_add_data_func("/locks/unwanted/flock", "--flock", test_unwanted);
}
