/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_lock_tests - locks whose fid, process or request ends before they do.
 *
 * p9-flow-test has locks between clients.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/p9/p9_fixture.h"
#include "tests/p9/p9_tests.h"

enum { NEVER_MS = 100, WAITERS = 64, PROCESSES = 4200, BY_ONE_FID = 300 };

/* A client and a file that it has open. */
struct locker {
    struct p9_client *client;
    uint32_t fid;
};

static void open_locker(struct locker *locker, const char *name)
{
    OK(p9_walk(locker->client, P9_ROOT, name, &locker->fid));
    OK(p9_lopen(locker->client, locker->fid, O_RDWR));
}

static struct locker new_locker(struct fixture *f, const char *name)
{
    struct locker locker = { p9_client_connect(f->rig->socket, 8192, getuid()),
                             0 };

    open_locker(&locker, name);
    return locker;
}

/* Lock all of the file. The status, or -errno. */
static int lock(const struct locker *locker, uint8_t type, uint32_t flags,
                uint32_t process)
{
    struct p9_message m = p9_lock_message(locker->fid, type, flags, 0, 0,
                                          process);
    struct p9_message reply;
    int r = p9_client_call(locker->client, &m, &reply);

    return r < 0 ? r : reply.status;
}

static int lock_now(const struct locker *locker, uint32_t process)
{
    return lock(locker, P9_LOCK_WRITE, 0, process);
}

static int unlock(const struct locker *locker, uint32_t process)
{
    return lock(locker, P9_LOCK_UNLOCK, 0, process);
}

static void send_waiting(const struct locker *locker, uint16_t tag,
                         uint32_t process)
{
    struct p9_message m = p9_lock_message(locker->fid, P9_LOCK_WRITE,
                                          P9_LOCK_WAIT, 0, 0, process);

    m.tag = tag;
    p9_client_send(locker->client, &m);
}

/* The lock is free within a short time. */
static void expect_free(struct fixture *f, const char *name)
{
    struct locker locker = new_locker(f, name);
    int r;

    for (int i = 0; (r = lock_now(&locker, 1)) == P9_LOCK_BLOCKED; i++) {
        g_assert_cmpint(i, <, 300);
        g_usleep(10000);
    }
    g_assert_cmpint(r, ==, P9_LOCK_SUCCESS);
    p9_client_free(locker.client);
}

/* ---- locks that wait ----------------------------------------------------- */

/* The fid is another file's by then. It has no lock: neither of that file, nor
 * of its own. */
static void test_clunked(struct fixture *f, gconstpointer option)
{
    struct locker holder = { f->client, 0 }, waiter;
    struct p9_message reply;

    p9_host_file(f, "file", "");
    p9_host_file(f, "other", "");
    open_locker(&holder, "file");
    waiter = new_locker(f, "file");
    OK(lock_now(&holder, 1));
    send_waiting(&waiter, 5000, 2);
    g_assert_false(p9_client_is_readable(waiter.client, NEVER_MS));
    OK(p9_clunk(waiter.client, waiter.fid));
    waiter.client->next_fid = waiter.fid; /* reuse it */
    open_locker(&waiter, "other");
    OK(unlock(&holder, 1));
    g_assert_true(p9_client_receive(waiter.client, &reply));
    g_assert_cmpuint(reply.tag, ==, 5000);
    g_assert_cmpuint(reply.type, ==, P9_RLERROR);
    g_assert_cmpuint(reply.ecode, ==, EBADF);
    expect_free(f, "file");
    expect_free(f, "other");
    p9_client_free(waiter.client);
}

/* As many as may wait, and the same number again afterwards. */
static void test_many_clunked(struct fixture *f, gconstpointer option)
{
    struct locker holder = { f->client, 0 }, waiter;
    uint32_t fids[WAITERS];
    struct p9_message reply;

    p9_host_file(f, "file", "");
    open_locker(&holder, "file");
    OK(lock_now(&holder, 1));
    waiter = new_locker(f, "file");
    for (int round = 0; round < 2; round++) {
        for (uint16_t i = 0; i < WAITERS; i++) {
            open_locker(&waiter, "file");
            fids[i] = waiter.fid;
            send_waiting(&waiter, 5000 + i, 2 + i);
        }
        g_assert_false(p9_client_is_readable(waiter.client, NEVER_MS));
        for (uint16_t i = 0; i < WAITERS; i++)
            OK(p9_clunk(waiter.client, fids[i]));
        OK(unlock(&holder, 1));
        for (uint16_t i = 0; i < WAITERS; i++) {
            g_assert_true(p9_client_receive(waiter.client, &reply));
            g_assert_cmpuint(reply.type, ==, P9_RLERROR);
            g_assert_cmpuint(reply.ecode, ==, EBADF);
        }
        OK(lock_now(&holder, 1));
    }
    p9_client_free(waiter.client);
}

/* ---- queries ------------------------------------------------------------- */

/* Tgetlock by more processes than may lock; then each may lock. */
static void test_many_ask(struct fixture *f, gconstpointer option)
{
    struct locker locker = { f->client, 0 };
    struct p9_message m, reply;

    p9_host_file(f, "file", "");
    open_locker(&locker, "file");
    for (uint32_t process = 1; process <= PROCESSES; process++) {
        m = p9_lock_message(locker.fid, P9_LOCK_WRITE, 0, 0, 0, process);
        m.type = P9_TGETLOCK;
        OK(p9_client_call(f->client, &m, &reply));
        g_assert_cmpuint(reply.lock.type, ==, P9_LOCK_UNLOCK);
    }
    OK(lock_now(&locker, PROCESSES + 1));
    OK(p9_client_call(f->client, &m, &reply));
    g_assert_cmpuint(reply.lock.type, ==, P9_LOCK_WRITE);
    /* Its own lock does not conflict. */
    m.lock.proc_id = PROCESSES + 1;
    OK(p9_client_call(f->client, &m, &reply));
    g_assert_cmpuint(reply.lock.type, ==, P9_LOCK_UNLOCK);
}

/* ---- many processes and one open file ------------------------------------ */

static struct locker file_locker(struct fixture *f)
{
    struct locker locker = { f->client, 0 };

    p9_host_file(f, "file", "");
    open_locker(&locker, "file");
    return locker;
}

/* flock(2): the lock belongs to the open file, and any process that has it can
 * unlock; Linux says that it would wait. */
static void test_flock(struct fixture *f, gconstpointer option)
{
    struct locker locker = file_locker(f);
    struct locker other = new_locker(f, "file");

    OK(lock_now(&locker, 100));
    OK(lock(&locker, P9_LOCK_UNLOCK, P9_LOCK_WAIT, 101));
    OK(lock_now(&other, 1));
    OK(lock(&other, P9_LOCK_UNLOCK, P9_LOCK_WAIT, 2));
    OK(lock_now(&locker, 102));
    g_assert_cmpint(lock_now(&other, 1), ==, P9_LOCK_BLOCKED);
    /* Not through another open file. */
    OK(lock(&other, P9_LOCK_UNLOCK, P9_LOCK_WAIT, 3));
    g_assert_cmpint(lock_now(&other, 1), ==, P9_LOCK_BLOCKED);
    p9_client_free(other.client);
}

/* fcntl(2): the lock belongs to the process; a child that closes an inherited
 * fd (Linux then unlocks) does not end it, nor does flock(2) end a lock of a
 * range. */
static void test_child_closes(struct fixture *f, gconstpointer option)
{
    struct locker locker = file_locker(f);
    struct locker other = new_locker(f, "file");
    struct p9_message part = p9_lock_message(locker.fid, P9_LOCK_WRITE, 0, 5,
                                             10, 100);
    struct p9_message reply;

    OK(lock_now(&locker, 100));
    OK(unlock(&locker, 101));
    g_assert_cmpint(lock_now(&other, 1), ==, P9_LOCK_BLOCKED);
    OK(unlock(&locker, 100));
    OK(lock_now(&other, 1));
    OK(unlock(&other, 1));
    OK(p9_client_call(f->client, &part, &reply));
    g_assert_cmpuint(reply.status, ==, P9_LOCK_SUCCESS);
    OK(lock(&locker, P9_LOCK_UNLOCK, P9_LOCK_WAIT, 101));
    g_assert_cmpint(lock_now(&other, 1), ==, P9_LOCK_BLOCKED);
    p9_client_free(other.client);
}

/* One after the other: afterwards none has a lock. */
static void test_many_unlock(struct fixture *f, gconstpointer option)
{
    struct locker locker = file_locker(f);

    for (uint32_t process = 1; process <= BY_ONE_FID; process++) {
        OK(lock_now(&locker, process));
        OK(unlock(&locker, process));
        OK(unlock(&locker, PROCESSES + process)); /* has no lock */
    }
    for (uint32_t process = 1; process <= BY_ONE_FID; process++) {
        OK(lock_now(&locker, process));
        OK(lock(&locker, P9_LOCK_UNLOCK, P9_LOCK_WAIT, PROCESSES + process));
    }
    expect_free(f, "file");
}

/* ---- parts of a file ---------------------------------------------------- */

static int lock_part(const struct locker *locker, uint8_t type, uint64_t first,
                     uint64_t end, uint32_t process)
{
    struct p9_message m = p9_lock_message(locker->fid, type, 0, first,
                                          end - first, process);
    struct p9_message reply;
    int r = p9_client_call(locker->client, &m, &reply);

    return r < 0 ? r : reply.status;
}

/* Return whether the other one can lock this byte, and unlock it again. */
static bool is_free(const struct locker *other, uint64_t byte)
{
    int r = lock_part(other, P9_LOCK_WRITE, byte, byte + 1, 1);

    g_assert_true(r == P9_LOCK_SUCCESS || r == P9_LOCK_BLOCKED);
    OK(lock_part(other, P9_LOCK_UNLOCK, byte, byte + 1, 1));
    return r == P9_LOCK_SUCCESS;
}

static void test_parts(struct fixture *f, gconstpointer option)
{
    struct locker locker = { f->client, 0 }, other;

    p9_host_file(f, "file", "");
    open_locker(&locker, "file");
    other = new_locker(f, "file");
    OK(lock_part(&locker, P9_LOCK_WRITE, 10, 40, 1));
    OK(lock_part(&locker, P9_LOCK_READ, 30, 50, 1));
    OK(lock_part(&locker, P9_LOCK_UNLOCK, 20, 25, 1));
    g_assert_true(is_free(&other, 9) && is_free(&other, 20) &&
                  is_free(&other, 24) && is_free(&other, 50));
    g_assert_false(is_free(&other, 10) || is_free(&other, 19) ||
                   is_free(&other, 25) || is_free(&other, 49));
    OK(lock_part(&locker, P9_LOCK_UNLOCK, 0, 20, 1));
    OK(lock_part(&locker, P9_LOCK_UNLOCK, 26, 100, 1));
    g_assert_false(is_free(&other, 25));
    OK(lock_part(&locker, P9_LOCK_UNLOCK, 25, 26, 1));
    g_assert_true(is_free(&other, 25));
    /* More locks than are counted. */
    for (uint64_t i = 0; i < BY_ONE_FID; i++)
        OK(lock_part(&locker, P9_LOCK_WRITE, 2 * i, 2 * i + 1, 1));
    for (uint64_t i = 1; i < BY_ONE_FID; i++)
        OK(lock_part(&locker, P9_LOCK_UNLOCK, 2 * i, 2 * i + 1, 1));
    g_assert_false(is_free(&other, 0));
    OK(lock_part(&locker, P9_LOCK_UNLOCK, 0, 1, 1));
    expect_free(f, "file");
    p9_client_free(other.client);
}

/* A process without locks does not count, however it came to that. */
static void test_many_unlock_parts(struct fixture *f, gconstpointer option)
{
    struct locker locker = { f->client, 0 };

    p9_host_file(f, "file", "");
    open_locker(&locker, "file");
    for (uint32_t process = 1; process <= BY_ONE_FID; process++) {
        OK(lock_part(&locker, P9_LOCK_WRITE, 5, 30, process));
        OK(lock_part(&locker, P9_LOCK_UNLOCK, 10, 30, process));
        OK(lock_part(&locker, P9_LOCK_UNLOCK, 0, 10, process));
    }
    expect_free(f, "file");
}

#define ADD(name, option, function) P9_ADD("p9-lock", name, option, function)

void add_p9_lock_tests(void)
{
    ADD("clunked", NULL, test_clunked);
    ADD("many-clunked", NULL, test_many_clunked);
    ADD("many-ask", NULL, test_many_ask);
    ADD("flock", NULL, test_flock);
    ADD("child-closes", NULL, test_child_closes);
    ADD("many-unlock", NULL, test_many_unlock);
    ADD("parts", NULL, test_parts);
    ADD("many-unlock-parts", NULL, test_many_unlock_parts);
}
