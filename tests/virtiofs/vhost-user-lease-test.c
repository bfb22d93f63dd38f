/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost-user-lease-test - names and attributes that a guest keeps for a while.
 *
 * The test plays the guest's kernel, which keeps the nodes of names that have
 * moved since: "b", and a folder "e" with a file "f". An undo, a redo or
 * another process gives them the names "a" and "d", or takes them away. Each
 * change through a kept node must fail with ESTALE; a lookup of the whole path
 * then finds that the name is gone, and the same change must work through the
 * name that the file has now.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/virtiofs/lease_changes.h"
#include "tests/virtiofs/guest_steps.h"

/* Repeat a refused request, as Linux does, for a node that no name led to. */
#define AGAIN(call)                                                            \
    do {                                                                       \
        int again_r = (call);                                                  \
        if (again_r == -ESTALE)                                                \
            again_r = (call);                                                  \
        OK(again_r);                                                           \
    } while (0)

/* Longer than the default. The daemon stops to refuse changes 2 s later. */
#define LEASE "cache=lease,timeout=0.2"

enum {
    LEASE_MS = 200,
    GUARD_MS = LEASE_MS + 1500,
    PATIENCE_MS = 20000,
    POLL_US = 2000,
};

static struct guest *new_guest(void)
{
    static const char *const arguments[] = { "-o", LEASE, NULL };

    return guest_new_with(arguments);
}

/* ---- the host ------------------------------------------------------------ */

static void host_rename(struct guest *g, const char *from, const char *to)
{
    g_autofree char *old = g_build_filename(g->client->share, from, NULL);
    g_autofree char *new = g_build_filename(g->client->share, to, NULL);

    OK(g_rename(old, new));
}

static void expect_content(struct guest *g, const char *name,
                           const char *expected)
{
    g_autofree char *path = g_build_filename(g->client->share, name, NULL);
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, expected);
}

/* ---- the guest ----------------------------------------------------------- */

static uint64_t known(struct guest *g, uint64_t dir, const char *name)
{
    struct fuse_entry_out entry;

    OK(fuse_client_lookup(g->client, dir, name, &entry));
    return entry.nodeid;
}

static bool is_missing(struct guest *g, const char *name)
{
    struct fuse_entry_out entry;
    int r = fuse_client_lookup(g->client, FUSE_ROOT_ID, name, &entry);

    g_assert_true(r == 0 || r == -ENOENT);
    return r == -ENOENT;
}

static void make_file(struct guest *g, uint64_t dir, const char *name)
{
    uint64_t node, fh;

    AGAIN(fuse_client_create(g->client, dir, name, O_RDWR, &node, &fh));
    g_assert_cmpint(fuse_client_write(g->client, fh, 0, "old", 3, 0), ==, 3);
    OK(fuse_client_release(g->client, FUSE_RELEASE, node, fh));
}

/* Step 1 makes a file and a folder with a file. */
static void make_tree(struct guest *g)
{
    uint64_t dir;

    guest_step_open(g, 1);
    make_file(g, FUSE_ROOT_ID, "a");
    AGAIN(fuse_client_mkdir(g->client, FUSE_ROOT_ID, "d", &dir));
    make_file(g, dir, "f");
    make_file(g, dir, "g");
    guest_step_close(g, 1);
}

static void move(struct guest *g, const char *from, const char *to)
{
    OK(fuse_client_rename(g->client, FUSE_ROOT_ID, from, FUSE_ROOT_ID, to, 0));
}

/* Nodes by names that are about to be outdated. */
struct kept {
    uint64_t file, dir, below;
    gint64 since; /* g_get_monotonic_time() of the change */
};

static bool is_in_time(const struct kept *kept)
{
    gint64 ms = (g_get_monotonic_time() - kept->since) / 1000;

    if (ms < GUARD_MS)
        return true;
    g_test_skip("this host is too slow");
    return false;
}

/* Wait until the daemon refuses nothing: a change of before was long ago. */
static void wait_calm(struct guest *g)
{
    gint64 end = g_get_monotonic_time() + PATIENCE_MS * 1000;
    uint64_t node = known(g, FUSE_ROOT_ID, "victim");

    while (lease_open_read(g, node) < 0 || lease_open_read(g, node) < 0) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(POLL_US);
    }
}

static struct kept keep(struct guest *g, const char *file, const char *dir)
{
    struct kept kept = { .file = known(g, FUSE_ROOT_ID, file),
                         .dir = known(g, FUSE_ROOT_ID, dir) };

    kept.below = known(g, kept.dir, "f");
    return kept;
}

/* Change through a kept node, whose name is now gone. */
static void expect_refused(struct guest *g, const struct lease_change *change,
                           uint64_t node, const char *gone)
{
    g_test_message("%s through %s", change->name, gone);
    STALE(change->make(g, node));
    g_assert_true(is_missing(g, gone));
}

/* The same, and then by its name of today. */
static void expect_resolved(struct guest *g, const struct lease_change *changes,
                            size_t n, const struct kept *kept, uint64_t node,
                            const char *gone, const char *now)
{
    for (size_t i = 0; i < n && is_in_time(kept); i++) {
        expect_refused(g, &changes[i], node, gone);
        g_assert_cmpuint(known(g, FUSE_ROOT_ID, now), ==, node);
        OK(changes[i].make(g, node));
    }
}

static void expect_exact(struct guest *g, const struct kept *kept,
                         const char *gone_file, const char *file,
                         const char *gone_dir, const char *dir)
{
    g_autofree char *below = g_strconcat(dir, "/f", NULL);
    const struct lease_change *change = lease_of_files;

    /* The folder of this one has moved, its own name has not. */
    for (size_t i = 0; i < LEASE_OF_FILES && is_in_time(kept); i++, change++)
        expect_refused(g, change, kept->below, gone_dir);
    expect_content(g, below, "old");
    expect_content(g, file, "old");
    expect_resolved(g, lease_of_files, LEASE_OF_FILES, kept, kept->file,
                    gone_file, file);
    expect_resolved(g, lease_of_folders, LEASE_OF_FOLDERS, kept, kept->dir,
                    gone_dir, dir);
}

/* ---- cases --------------------------------------------------------------- */

static void granted(void)
{
    static const char *const arguments[] = { "--cache=lease", NULL };
    struct guest *g = guest_new_with(arguments);
    struct fuse_entry_out entry;

    g_usleep(200000); /* until the report of the file's creation */
    OK(fuse_client_lookup(g->client, FUSE_ROOT_ID, "victim", &entry));
    g_assert_cmpuint(entry.entry_valid, ==, 0);
    g_assert_cmpuint(entry.entry_valid_nsec, ==, 50000000);
    g_assert_cmpuint(entry.attr_valid, ==, 0);
    g_assert_cmpuint(entry.attr_valid_nsec, ==, 50000000);
    /* The engine must see by which of several names a file is used. */
    {
        g_autofree char *one = g_build_filename(g->client->share, "victim",
                                                NULL);
        g_autofree char *two = g_build_filename(g->client->share, "second",
                                                NULL);

        g_assert_cmpint(link(one, two), ==, 0);
        OK(fuse_client_lookup(g->client, FUSE_ROOT_ID, "second", &entry));
        g_assert_cmpuint(entry.entry_valid_nsec, ==, 0);
        g_assert_cmpuint(entry.attr_valid_nsec, ==, 50000000);
    }
    /* A name that does not exist is never kept. */
    g_assert_cmpint(fuse_client_lookup(g->client, FUSE_ROOT_ID, "none", &entry),
                    ==, -ENOENT);
    guest_free(g);
}

/* Undo or redo a move of "a" and "d" to "b" and "e" while names are kept. */
static void after_move(bool redone)
{
    struct guest *g = new_guest();
    const char *file[] = { "a", "b" }, *dir[] = { "d", "e" };
    int now = redone ? 0 : 1; /* the index of the names before the request */
    struct kept kept;
    gint64 start;

    make_tree(g);
    guest_step_open(g, 2);
    move(g, "a", "b");
    move(g, "d", "e");
    guest_step_close(g, 2);
    if (redone)
        guest_undo(g);
    wait_calm(g);
    start = g_get_monotonic_time();
    kept = keep(g, file[now], dir[now]);
    if (redone)
        guest_redo(g);
    else
        guest_undo(g);
    kept.since = start;
    g_assert_cmpint(g_get_monotonic_time() - start, >=, LEASE_MS * 1000);
    expect_exact(g, &kept, file[now], file[!now], dir[now], dir[!now]);
    guest_free(g);
}

static void after_undo(void)
{
    after_move(false);
}

static void after_redo(void)
{
    after_move(true);
}

/* Wait until the daemon has noticed: until then a change through the name of
 * before is made, as if it had come before the edit. */
static void wait_noticed(struct guest *g, uint64_t node)
{
    gint64 end = g_get_monotonic_time() + PATIENCE_MS * 1000;

    while (lease_open_read(g, node) == 0) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(POLL_US);
    }
    g_assert_true(is_missing(g, "none"));
}

static void after_host_edit(void)
{
    struct guest *g = new_guest();
    struct kept kept;

    make_tree(g);
    wait_calm(g);
    kept = keep(g, "a", "d");
    kept.since = g_get_monotonic_time();
    host_rename(g, "a", "b");
    host_rename(g, "d", "e");
    wait_noticed(g, kept.file);
    expect_exact(g, &kept, "a", "b", "d", "e");
    guest_free(g);
}

/* A command sees all that the host did before it. */
static void before_step(void)
{
    struct guest *g = new_guest();
    gint64 start;

    make_tree(g);
    start = g_get_monotonic_time();
    keep(g, "a", "d");
    host_rename(g, "a", "b");
    guest_step_open(g, 2);
    g_assert_cmpint(g_get_monotonic_time() - start, >=, LEASE_MS * 1000);
    guest_step_close(g, 2);
    guest_free(g);
}

/* A name in the working directory, and a file by its fd, are not looked up for
 * the repetition. */
static void without_names(void)
{
    struct guest *g = new_guest();
    uint64_t node, fh;
    struct kept kept;

    make_tree(g);
    guest_step_open(g, 2);
    move(g, "a", "b");
    move(g, "d", "e");
    guest_step_close(g, 2);
    kept = keep(g, "b", "e");
    AGAIN(fuse_client_open(g->client, kept.below, O_RDONLY, 0, &fh));
    guest_undo(g);
    STALE(fuse_client_mkdir(g->client, kept.dir, "in-cwd", &node));
    OK(fuse_client_mkdir(g->client, kept.dir, "in-cwd", &node));
    STALE(fuse_client_mkdir(g->client, kept.dir, "again", &node));
    OK(lease_set_mode(g, kept.below)); /* fchmod(2) is not repeated */
    OK(fuse_client_release(g->client, FUSE_RELEASE, kept.below, fh));
    guest_free(g);
}

/* Only the thread that was refused may repeat, and only what it looked up. */
static void other_threads(void)
{
    struct guest *g = new_guest();
    struct kept kept;

    make_tree(g);
    guest_step_open(g, 2);
    move(g, "a", "b");
    guest_step_close(g, 2);
    kept = keep(g, "b", "d");
    guest_undo(g);
    STALE(lease_open_write(g, kept.file));
    g->client->thread = 2;
    STALE(lease_open_write(g, kept.file));
    g->client->thread = 0;
    g_assert_true(is_missing(g, "b"));
    g->client->thread = 2;
    known(g, FUSE_ROOT_ID, "a");
    OK(lease_open_write(g, kept.file));
    g->client->thread = 0;
    STALE(lease_open_write(g, kept.file));
    guest_free(g);
}

/* Undo in the middle: what was looked up before it counts no more. */
static void undone_meanwhile(void)
{
    struct guest *g = new_guest();
    struct kept kept;

    make_tree(g);
    for (int64_t id = 2; id <= 3; id++) {
        guest_step_open(g, id);
        move(g, id == 2 ? "a" : "b", id == 2 ? "b" : "c");
        guest_step_close(g, id);
    }
    kept = keep(g, "c", "d");
    guest_undo(g);
    STALE(lease_open_write(g, kept.file));
    g_assert_cmpuint(known(g, FUSE_ROOT_ID, "b"), ==, kept.file);
    guest_undo(g);
    STALE(lease_open_write(g, kept.file));
    guest_free(g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lease/granted", granted);
    g_test_add_func("/lease/undo", after_undo);
    g_test_add_func("/lease/redo", after_redo);
    g_test_add_func("/lease/host-edit", after_host_edit);
    g_test_add_func("/lease/before-step", before_step);
    g_test_add_func("/lease/without-names", without_names);
    g_test_add_func("/lease/other-threads", other_threads);
    g_test_add_func("/lease/undone-meanwhile", undone_meanwhile);
    return g_test_run();
}
