/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_limits_tests - resources that one client must not exhaust.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/p9/p9_fixture.h"
#include "tests/p9/p9_tests.h"

enum {
    FILES = 800, /* more than there are descriptors */
    HALF_CLOSED = 200,
    CONNECTIONS = 300,
    CONNECTION_BYTES = 131072, /* limit for one, with a sanitizer too */
};

static void name_file(char *name, uint32_t i)
{
    g_snprintf(name, 16, "file-%u", i);
}

static void make_files(struct fixture *f)
{
    char name[16];

    for (uint32_t i = 0; i < FILES; i++) {
        g_autofree char *path = NULL;

        name_file(name, i);
        path = p9_rig_path(f->rig, name);
        OK(mknod(path, S_IFREG | 0644, 0));
    }
}

/* Descriptors of paths can be closed for new opens, but only so many. */
static uint32_t take_descriptors(struct fixture *f)
{
    uint32_t fids[FILES], taken = 0;
    char name[16];
    int r = 0;

    for (uint32_t i = 0; i < FILES; i++) {
        name_file(name, i);
        fids[i] = p9_fid(f, name);
    }
    for (uint32_t i = 0; r == 0 && i < FILES; i++) {
        r = p9_lopen(f->client, fids[i], O_RDWR);
        taken += r == 0;
    }
    g_assert_cmpint(r, ==, -ENFILE);
    /* Another attempt is futile. */
    for (uint32_t i = taken; i < FILES; i++) {
        r = p9_lopen(f->client, fids[i], O_RDWR);
        g_assert_true(r == 0 || r == -ENFILE);
        taken += r == 0;
    }
    return taken;
}

/* A refused create leaves no file. */
static void create_until_refused(struct fixture *f)
{
    for (int i = 0, r = 0; r == 0; i++) {
        g_autofree char *name = g_strdup_printf("new-%d", i);
        g_autofree char *path = p9_rig_path(f->rig, name);
        uint32_t fid = p9_fid(f, "");

        r = p9_lcreate(f->client, fid, name, O_RDWR, 0644);
        g_assert_true(r == 0 || r == -ENFILE);
        g_assert_cmpint(g_file_test(path, G_FILE_TEST_EXISTS), ==, r == 0);
        g_assert_cmpint(i, <, 10);
    }
}

/* A client with all descriptors cannot prevent the undo of its changes. */
static void test_descriptors(struct fixture *f, gconstpointer option)
{
    g_autofree char *made = p9_rig_path(f->rig, "made");
    struct stat st;

    make_files(f);
    p9_step_open(f, 1);
    OK(p9_clunk(f->client, p9_create_fid(f, "made")));
    g_test_message("%u files are open", take_descriptors(f));
    create_until_refused(f);
    OK(p9_stat(f->client, P9_ROOT, &st));
    p9_step_close(f, 1);
    p9_undo(f, 1);
    g_assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
    /* A new client gets what this one releases. */
    p9_client_free(f->client);
    f->client = p9_client_connect(f->rig->socket, 65536, getuid());
    OK(p9_create(f, "later", O_RDWR, 0644));
}

/* ---- connections --------------------------------------------------------- */

static void send_fsync(struct p9_client *client, uint32_t fid, uint16_t tag)
{
    struct p9_message m = { .type = P9_TFSYNC, .tag = tag };

    m.fsync.fid = fid;
    p9_client_send(client, &m);
}

static void send_read(struct p9_client *client, uint32_t fid, uint16_t tag)
{
    struct p9_message m = { .type = P9_TREAD, .tag = tag };

    m.read.fid = fid;
    m.read.count = 30000;
    p9_client_send(client, &m);
}

/* A client that has closed its sending side gets all replies, more than its
 * socket takes; then the server hangs up. */
static void test_half_closed(struct fixture *f, gconstpointer option)
{
    g_autofree char *data = g_malloc0(30000);
    bool answered[HALF_CLOSED] = { false };
    uint32_t fid = p9_create_fid(f, "file");
    struct p9_message reply;

    g_assert_cmpint(p9_write(f->client, fid, data, 30000, 0), ==, 30000);
    for (uint16_t tag = 0; tag < HALF_CLOSED; tag += 2) {
        send_fsync(f->client, fid, tag);
        send_read(f->client, fid, tag + 1);
    }
    OK(shutdown(f->client->fd, SHUT_WR));
    g_usleep(200000);
    for (int i = 0; i < HALF_CLOSED; i++) {
        g_assert_true(p9_client_receive(f->client, &reply));
        g_assert_cmpuint(reply.type, ==, reply.tag % 2 ? P9_RREAD : P9_RFSYNC);
        g_assert_cmpuint(reply.tag, <, HALF_CLOSED);
        g_assert_false(answered[reply.tag]);
        answered[reply.tag] = true;
    }
    g_assert_false(p9_client_receive(f->client, &reply));
}

/* A client that has closed its sending side and does not read does not delay
 * the end. */
static void test_half_closed_stop(struct fixture *f, gconstpointer option)
{
    g_autofree char *data = g_malloc0(30000);
    uint32_t fid = p9_create_fid(f, "file");

    g_assert_cmpint(p9_write(f->client, fid, data, 30000, 0), ==, 30000);
    for (uint16_t tag = 0; tag < HALF_CLOSED; tag++)
        send_read(f->client, fid, tag);
    OK(shutdown(f->client->fd, SHUT_WR));
    g_usleep(200000);
    p9_rig_stop(f->rig);
}

/* Return how many of these connections are answered; they stay open. */
static unsigned connect_many(struct fixture *f, struct p9_client **clients)
{
    struct p9_message m = { .type = P9_TVERSION, .tag = P9_NO_TAG }, reply;
    unsigned served = 0;

    m.version.msize = 8192;
    m.version.version = p9_string(P9_VERSION);
    for (int i = 0; i < CONNECTIONS; i++) {
        int size;

        clients[i] = p9_client_open(f->rig->socket);
        g_assert_nonnull(clients[i]);
        size = p9_message_encode(&m, clients[i]->out, clients[i]->room);
        /* The server may have hung up by now. */
        if (send(clients[i]->fd, clients[i]->out, (size_t)size, MSG_NOSIGNAL) ==
            size)
            served += p9_client_receive(clients[i], &reply);
    }
    return served;
}

/* More connections than descriptors: the server hangs up on the rest, and
 * changes by those can be undone. */
static void test_connections(struct fixture *f, gconstpointer option)
{
    g_autofree char *made = p9_rig_path(f->rig, "made");
    struct p9_client *clients[CONNECTIONS];
    size_t memory = p9_rig_memory(f->rig);
    unsigned served;

    p9_client_free(f->client);
    p9_rig_stop(f->rig);
    p9_rig_start(f->rig, option, "--max-connections=4096", NULL);
    f->client = p9_client_connect(f->rig->socket, 65536, getuid());
    p9_step_open(f, 1);
    OK(p9_clunk(f->client, p9_create_fid(f, "made")));
    p9_step_close(f, 1);
    g_clear_pointer(&f->control, control_client_free);
    served = connect_many(f, clients);
    g_test_message("%u connections are served", served);
    g_assert_cmpuint(served, >, 50);
    g_assert_cmpuint(served, <, CONNECTIONS);
    g_assert_cmpuint(p9_rig_memory(f->rig), <,
                     memory + CONNECTIONS * CONNECTION_BYTES);
    p9_undo(f, 1); /* over a new connection */
    g_assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
    for (int i = 0; i < CONNECTIONS; i++)
        p9_client_free(clients[i]);
}

#define ADD(name, option, function) P9_ADD("p9-limits", name, option, function)

void add_p9_limits_tests(void)
{
    ADD("descriptors", "--rlimit-nofile=600", test_descriptors);
    ADD("half-closed", NULL, test_half_closed);
    ADD("half-closed-stop", NULL, test_half_closed_stop);
    ADD("connections", "--rlimit-nofile=400", test_connections);
}
