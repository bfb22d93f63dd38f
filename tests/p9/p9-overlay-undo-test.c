/* SPDX-License-Identifier: Apache-2.0
 *
 * p9-overlay-undo-test - undo of the metadata of --profile=windows.
 *
 * Modes, owners and symlinks are rolled back with their step: by undo, redo,
 * abort and recovery, wherever the daemon is killed. Ids: WN-05.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interceptor/interceptor.h"
#include "tests/p9/p9_fixture.h"
#include "tests/p9/p9_tests.h"

#define WINDOWS "--profile=windows"

enum {
    KILLS = 10,
    ROLLBACK_KILLS = 8,
    GUARDED = 16,
    CREATES = 60,
};

/* ---- steps --------------------------------------------------------------- */

static void make(struct fixture *f, const char *name, uint32_t mode)
{
    OK(p9_create(f, name, O_RDWR | P9_OPEN_EXCL, mode));
}

/* A bit of everything, with rows and without. */
static void make_tree(struct fixture *f)
{
    p9_step_open(f, 1);
    make(f, "plain", 0644);
    make(f, "tool", 0755);
    make(f, "secret", 0600);
    make(f, "gone", 0711);
    make(f, "run.sh", 0755);
    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0700));
    OK(p9_mkdir(f->client, P9_ROOT, "empty", 0750));
    OK(p9_symlink(f->client, P9_ROOT, "link", "tool"));
    OK(p9_link(f->client, P9_ROOT, p9_fid(f, "secret"), "twice"));
    OK(p9_chown(f, "tool", 42, 43));
    p9_step_close(f, 1);
}

/* Change everything. Stops after this number of changes. */
static void change_tree(struct fixture *f, int changes)
{
    uint32_t dir = p9_fid(f, "dir");
    int n = 0;

#define STEP(call)                                                             \
    do {                                                                       \
        if (n++ >= changes)                                                    \
            return;                                                            \
        OK(call);                                                              \
    } while (0)
    STEP(p9_chmod(f, "plain", 0755));
    STEP(p9_chmod(f, "tool", 0644));
    STEP(p9_chmod(f, "tool", 04755));
    STEP(p9_chown(f, "secret", 7, 8));
    STEP(p9_chmod(f, "dir", 0777));
    STEP(p9_unlinkat(f->client, P9_ROOT, "gone", 0));
    STEP(p9_symlink(f->client, P9_ROOT, "gone", "now/a/link"));
    STEP(p9_unlinkat(f->client, P9_ROOT, "link", 0));
    STEP(p9_mkdir(f->client, P9_ROOT, "link", 0711));
    STEP(p9_unlinkat(f->client, P9_ROOT, "empty", P9_AT_REMOVEDIR));
    STEP(p9_renameat(f->client, P9_ROOT, "run.sh", dir, "run"));
    STEP(p9_renameat(f->client, P9_ROOT, "secret", P9_ROOT, "plain"));
    STEP(p9_chmod(f, "twice", 0400));
    STEP(p9_renameat(f->client, P9_ROOT, "dir", P9_ROOT, "moved"));
    STEP(p9_symlink(f->client, dir, "in", "../tool"));
    STEP(p9_unlinkat(f->client, P9_ROOT, "tool", 0));
    STEP(p9_mkdir(f->client, P9_ROOT, "tool", 0755));
    STEP(p9_chmod(f, "moved/run", 0));
#undef STEP
}

enum { CHANGES = 18 };

/* ---- undo, redo, abort --------------------------------------------------- */

static void check_rollback(struct fixture *f)
{
    g_autofree char *before = NULL, *after = NULL, *empty = p9_tree(f);

    make_tree(f);
    before = p9_tree(f);
    p9_step_open(f, 2);
    change_tree(f, CHANGES);
    p9_step_close(f, 2);
    after = p9_tree(f);
    g_assert_cmpstr(before, !=, after);
    p9_undo(f, 1);
    p9_tree_is(f, before);
    p9_redo(f, 1);
    p9_tree_is(f, after);
    p9_restart(f, WINDOWS);
    p9_tree_is(f, after);
    p9_undo(f, 2);
    p9_tree_is(f, empty);
    p9_redo(f, 2);
    p9_tree_is(f, after);
    p9_undo(f, 1);
    p9_restart(f, WINDOWS);
    p9_tree_is(f, before);
}

static void test_rollback(struct fixture *f, gconstpointer option)
{
    check_rollback(f);
}

/* With the log on another file system removed files are made anew, with other
 * numbers. */
static void test_rollback_copied(struct fixture *f, gconstpointer option)
{
    p9_log_elsewhere(f, option, check_rollback);
}

static void test_abort(struct fixture *f, gconstpointer option)
{
    g_autofree char *before = NULL;

    make_tree(f);
    before = p9_tree(f);
    p9_step_open(f, 2);
    change_tree(f, CHANGES);
    p9_control(f, "step.abort", json_pack("{s:i}", "step_id", 2));
    p9_tree_is(f, before);
}

/* A step that changes only the reference on the host is kept in the history. */
static void test_chmod_alone(struct fixture *f, gconstpointer option)
{
    p9_host_file(f, "file", "text");
    p9_step_open(f, 1);
    OK(p9_chmod(f, "file", 0755));
    p9_step_close(f, 1);
    p9_step_open(f, 2);
    OK(p9_chmod(f, "file", 0700));
    OK(p9_chmod(f, "file", 0600));
    p9_step_close(f, 2);
    p9_undo(f, 1);
    g_assert_cmphex(p9_mode(f, "file"), ==, S_IFREG | 0755);
    p9_undo(f, 1);
    g_assert_cmphex(p9_mode(f, "file"), ==, S_IFREG | 0644);
    p9_redo(f, 2);
    g_assert_cmphex(p9_mode(f, "file"), ==, S_IFREG | 0600);
    /* Outside a step: an ambient one. */
    OK(p9_chmod(f, "file", 0111));
    p9_undo(f, 1);
    g_assert_cmphex(p9_mode(f, "file"), ==, S_IFREG | 0600);
}

/* By a process that has the log and knows no overlay (the command line). */
static void test_without_daemon(struct fixture *f, gconstpointer option)
{
    struct ic_options options = { .share = f->rig->share,
                                  .undo_dir = f->rig->undo_dir,
                                  .no_timer = true };
    g_autofree char *before = NULL, *after = NULL;
    g_autoptr(GError) error = NULL;
    struct ic *ic;

    make_tree(f);
    before = p9_tree(f);
    p9_step_open(f, 2);
    change_tree(f, CHANGES);
    p9_step_close(f, 2);
    after = p9_tree(f);
    p9_pause(f);
    ic = ic_open_share(&options, &error);
    g_assert_no_error(error);
    g_assert_true(ic_rollback(ic, 1, false, NULL, &error));
    ic_close(ic);
    p9_resume(f, WINDOWS);
    p9_tree_is(f, before);
    p9_redo(f, 1);
    p9_tree_is(f, after);
}

/* ---- kill -9 ------------------------------------------------------------- */

/* After each of the changes. */
static void test_killed(struct fixture *f, gconstpointer option)
{
    g_autofree char *before = NULL;

    make_tree(f);
    before = p9_tree(f);
    for (int n = 1; n <= CHANGES; n++) {
        p9_step_open(f, 1 + n);
        change_tree(f, n);
        p9_kill_restart(f, WINDOWS);
        p9_tree_is(f, before);
    }
}

static gpointer kill_later(gpointer data)
{
    struct p9_rig *rig = ((gpointer *)data)[0];

    g_usleep(GPOINTER_TO_UINT(((gpointer *)data)[1]));
    kill(rig->pid, SIGKILL);
    return NULL;
}

/* The server may be dead. */
static void try_send(struct p9_client *client, const struct p9_message *m)
{
    int size = p9_message_encode(m, client->out, client->room);

    g_assert_cmpint(size, >, 0);
    send(client->fd, client->out, (size_t)size, MSG_NOSIGNAL);
}

/* Requests without waiting for their replies: create, chmod and chown, and
 * links. */
static void pour(struct p9_client *client)
{
    for (unsigned i = 0; i < 200; i++) {
        g_autofree char *name = g_strdup_printf("new%u", i);
        struct p9_message m = { .type = P9_TMKDIR };

        m.tag = (uint16_t)(1000 + i);
        m.mkdir.fid = P9_ROOT;
        m.mkdir.name = p9_string(name);
        m.mkdir.mode = 0700 + i % 64;
        m.mkdir.gid = P9_NO_UID;
        try_send(client, &m);
        m = (struct p9_message){ .type = P9_TSETATTR };
        m.tag = (uint16_t)(2000 + i);
        m.setattr.fid = 5;
        m.setattr.valid = P9_SETATTR_MODE;
        m.setattr.mode = i;
        try_send(client, &m);
        m = (struct p9_message){ .type = P9_TSYMLINK };
        m.tag = (uint16_t)(3000 + i);
        g_free(name);
        name = g_strdup_printf("link%u", i);
        m.symlink.fid = P9_ROOT;
        m.symlink.name = p9_string(name);
        m.symlink.target = p9_string("a/target");
        m.symlink.gid = P9_NO_UID;
        try_send(client, &m);
    }
}

/* At any moment, within changes. */
static void test_killed_anywhere(struct fixture *f, gconstpointer option)
{
    g_autofree char *before = NULL;

    make_tree(f);
    before = p9_tree(f);
    for (int n = 0; n < KILLS; n++) {
        gpointer what[2] = { f->rig,
                             GUINT_TO_POINTER(g_random_int_range(500, 60000)) };
        struct p9_message reply;
        GThread *killer;
        uint32_t fid;

        p9_step_open(f, 2 + n);
        f->client->next_fid = 5;
        OK(p9_walk(f->client, P9_ROOT, "tool", &fid));
        g_assert_cmpuint(fid, ==, 5);
        killer = g_thread_new("killer", kill_later, what);
        pour(f->client);
        while (p9_client_receive(f->client, &reply))
            ;
        g_thread_join(killer);
        p9_kill_restart(f, WINDOWS);
        p9_tree_is(f, before);
    }
}

/* In a rollback: it is completed, or the step is still there. */
static void test_killed_rollback(struct fixture *f, gconstpointer option)
{
    g_autofree char *before = NULL, *after = NULL;
    int done = 0;

    make_tree(f);
    before = p9_tree(f);
    for (int n = 0; n < ROLLBACK_KILLS; n++) {
        g_autofree char *now = NULL;
        gpointer what[2] = { f->rig,
                             GUINT_TO_POINTER(g_random_int_range(1, 12000)) };
        g_autofree char *found = NULL;
        g_autoptr(GError) error = NULL;
        GThread *killer;

        p9_step_open(f, 2 + n);
        change_tree(f, CHANGES);
        p9_step_close(f, 2 + n);
        now = p9_tree(f);
        if (!after)
            after = g_strdup(now);
        g_assert_cmpstr(now, ==, after);
        killer = g_thread_new("killer", kill_later, what);
        json_decref(control_client_request(
            f->control, "rollback", json_pack("{s:i}", "steps", 1), &error));
        g_thread_join(killer);
        p9_kill_restart(f, WINDOWS);
        found = p9_tree(f);
        if (strcmp(found, before) == 0) {
            done++;
            continue;
        }
        g_assert_cmpstr(found, ==, after);
        p9_undo(f, 1);
        p9_tree_is(f, before);
    }
    g_test_message("%d of %d rollbacks were finished", done, ROLLBACK_KILLS);
}

/* ---- parked half-way ----------------------------------------------------- */

static void confirm(struct fixture *f, const char *action)
{
    json_t *event = control_client_wait_event(f->control,
                                              "event.safeguard_triggered");

    p9_control(f, "safeguard.confirm",
               json_pack("{s:O, s:s}", "safeguard_id",
                         json_object_get(event, "safeguard_id"), "action",
                         action));
    json_decref(event);
}

static void send_create(struct p9_client *client, unsigned i)
{
    g_autofree char *name = g_strdup_printf("made%u", i);
    struct p9_message m = { .type = i % 2 ? P9_TSYMLINK : P9_TMKDIR };

    m.tag = (uint16_t)i;
    if (i % 2) {
        m.symlink.fid = P9_ROOT;
        m.symlink.name = p9_string(name);
        m.symlink.target = p9_string("target");
        m.symlink.gid = P9_NO_UID;
    } else {
        m.mkdir.fid = P9_ROOT;
        m.mkdir.name = p9_string(name);
        m.mkdir.mode = 0700;
        m.mkdir.gid = P9_NO_UID;
    }
    p9_client_send(client, &m);
}

static void send_unlinks(struct p9_client *client)
{
    static const char *const names[] = { "x", "y" };

    for (uint16_t i = 0; i < G_N_ELEMENTS(names); i++) {
        struct p9_message m = { .type = P9_TUNLINKAT };

        m.tag = i;
        m.unlinkat.fid = P9_ROOT;
        m.unlinkat.name = p9_string(names[i]);
        m.unlinkat.flags = 0;
        p9_client_send(client, &m);
    }
}

static void receive(struct p9_client *client, unsigned count, bool all_well)
{
    struct p9_message reply;

    for (unsigned i = 0; i < count; i++) {
        g_assert_true(p9_client_receive(client, &reply));
        if (all_well)
            g_assert_cmpuint(reply.type, !=, P9_RLERROR);
    }
}

/* A decision is pending, from some moment within the creations on: when it is
 * made, each continues from where it was; or, when denied, none of it stays. */
static void check_parked(struct fixture *f, int id, const char *action)
{
    bool allow = strcmp(action, "allow") == 0;
    struct p9_client *other = p9_client_connect(f->rig->socket, 65536, 0);
    g_autofree char *before = NULL;
    unsigned at;

    make(f, "x", 0644);
    make(f, "y", 0600);
    before = p9_tree(f);
    p9_step_open(f, id);
    at = (unsigned)g_random_int_range(0, CREATES);
    for (unsigned i = 0; i < CREATES; i++) {
        if (i == at)
            send_unlinks(other);
        send_create(f->client, i);
    }
    confirm(f, action);
    receive(f->client, CREATES, allow);
    p9_client_free(other);
    for (unsigned i = 0; allow && i < CREATES; i++) {
        g_autofree char *name = g_strdup_printf("made%u", i);

        g_assert_cmphex(p9_mode(f, name), ==,
                        i % 2 ? S_IFLNK | 0777 : S_IFDIR | 0700);
    }
    p9_step_close(f, id);
    if (allow)
        p9_undo(f, 1);
    p9_tree_is(f, before);
    OK(p9_unlinkat(f->client, P9_ROOT, "x", 0));
    OK(p9_unlinkat(f->client, P9_ROOT, "y", 0));
}

static void test_parked(struct fixture *f, gconstpointer option)
{
    p9_control(f, "safeguard.configure",
               json_pack("{s:i}", "delete_threshold", 2));
    for (int n = 0; n < GUARDED; n++)
        check_parked(f, n + 1, n % 4 == 3 ? "deny" : "allow");
}

#define ADD(name, function) P9_ADD("p9-overlay-undo", name, WINDOWS, function)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("WN-05/rollback", test_rollback);
    ADD("WN-05/rollback-copied", test_rollback_copied);
    ADD("WN-05/abort", test_abort);
    ADD("WN-05/chmod-alone", test_chmod_alone);
    ADD("WN-05/without-daemon", test_without_daemon);
    ADD("WN-05/killed", test_killed);
    ADD("WN-05/killed-anywhere", test_killed_anywhere);
    ADD("WN-05/killed-rollback", test_killed_rollback);
    ADD("WN-05/parked", test_parked);
    add_p9_overlay_collect_tests();
    return g_test_run();
}
