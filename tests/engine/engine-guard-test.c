/* SPDX-License-Identifier: Apache-2.0
 *
 * engine-guard-test - the engine refuses ways out of the share.
 *
 * It also survives faulty clients.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/engine/engine_guard.h"
#include "tests/engine/engine_tests.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

/* ---- ways out ------------------------------------------------------------ */

static void names(struct guard *f, gconstpointer data)
{
    static const char *const bad[] = { "", ".", "..", "a/b", "/", "../x" };
    struct ic_inode *root = ic_root(f->ic), *inode;
    int fd;

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_cmpint(ic_lookup(f->ic, root, bad[i], &inode, NULL), ==,
                        -EINVAL);
        g_assert_cmpint(ic_create(f->ic, &f->cred, root, bad[i], O_RDWR, 0644,
                                  &inode, NULL, &fd),
                        ==, -EINVAL);
        g_assert_cmpint(
            ic_mkdirat(f->ic, &f->cred, root, bad[i], 0755, &inode, NULL), ==,
            -EINVAL);
        g_assert_cmpint(ic_unlinkat(f->ic, root, bad[i], 0), ==, -EINVAL);
        g_assert_cmpint(ic_renameat2(f->ic, root, "file", root, bad[i], 0), ==,
                        -EINVAL);
        g_assert_cmpint(ic_renameat2(f->ic, root, bad[i], root, "x", 0), ==,
                        -EINVAL);
    }
}

static void parent_of_root(struct guard *f, gconstpointer data)
{
    struct ic_inode *dir = guard_lookup(f, ic_root(f->ic), "dir"), *parent;

    OK(ic_lookup_parent(f->ic, ic_root(f->ic), &parent));
    g_assert_true(parent == ic_root(f->ic));
    ic_inode_unref(parent);
    OK(ic_lookup_parent(f->ic, dir, &parent));
    g_assert_true(parent == ic_root(f->ic));
    ic_inode_unref(parent);
    ic_inode_unref(dir);
}

/* A removed directory is in the log; a client that holds it must neither leave
 * it by ".." nor create anything in it. */
static void removed_directory(struct guard *f, gconstpointer data)
{
    bool later_step = GPOINTER_TO_INT(data);
    struct ic_inode *dir = guard_lookup(f, ic_root(f->ic), "dir");
    struct ic_inode *sub = guard_lookup(f, dir, "sub"), *inode;
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    int fd;

    guard_open_step(f, 1);
    OK(ic_unlinkat(f->ic, dir, "sub", AT_REMOVEDIR));
    if (later_step) {
        guard_close_step(f, 1);
        guard_open_step(f, 2);
        OK(ic_unlinkat(f->ic, ic_root(f->ic), "file", 0));
    }
    g_assert_cmpint(ic_lookup_parent(f->ic, sub, &inode), ==, -ENOENT);
    g_assert_cmpint(ic_mkdirat(f->ic, &f->cred, sub, "x", 0755, &inode, NULL),
                    ==, -ENOENT);
    g_assert_cmpint(
        ic_create(f->ic, &f->cred, sub, "x", O_RDWR, 0644, &inode, NULL, &fd),
        ==, -ENOENT);
    g_assert_cmpint(ic_renameat2(f->ic, ic_root(f->ic), "other", sub, "x", 0),
                    ==, -ENOENT);
    guard_close_step(f, later_step ? 2 : 1);
    g_assert_true(ic_rollback(f->ic, later_step ? 2 : 1, false, NULL, NULL));
    world_assert_equal(f->world, before);
    /* It is the same directory again, and usable. */
    OK(ic_mkdirat(f->ic, &f->cred, sub, "x", 0755, &inode, NULL));
    ic_inode_unref(inode);
    OK(ic_lookup_parent(f->ic, sub, &inode));
    g_assert_true(inode == dir);
    ic_inode_unref(inode);
    ic_inode_unref(sub);
    ic_inode_unref(dir);
}

static void moved_away(struct guard *f, gconstpointer data)
{
    struct ic_inode *dir = guard_lookup(f, ic_root(f->ic), "dir"), *parent;
    g_autofree char *inside = world_host_path(f->world, "dir");
    g_autofree char *outside = g_build_filename(f->world->base, "away", NULL);

    OK(rename(inside, outside));
    g_assert_cmpint(ic_lookup_parent(f->ic, dir, &parent), ==, -ENOENT);
    g_assert_cmpint(ic_unlinkat(f->ic, dir, "sub", AT_REMOVEDIR), ==, -ESTALE);
    ic_inode_unref(dir);
}

/* As another engine moves what is removed in a folder of the share. */
static void moved_into_another_log(struct guard *f, gconstpointer data)
{
    struct ic_inode *dir = guard_lookup(f, ic_root(f->ic), "dir"), *parent;
    g_autofree char *inside = world_host_path(f->world, "dir");
    g_autofree char *blob = world_host_path(f->world, ".stepback/x/blobs/i1");

    world_host_dir(f->world, ".stepback");
    world_host_dir(f->world, ".stepback/x");
    world_host_dir(f->world, ".stepback/x/blobs");
    OK(rename(inside, blob));
    g_assert_cmpint(ic_lookup_parent(f->ic, dir, &parent), ==, -ENOENT);
    ic_inode_unref(dir);
}

static void log_in_share(struct guard *f, gconstpointer data)
{
    g_autofree char *inside = world_host_path(f->world, "dir/new/log");
    struct ic_options options = { .share = f->world->share,
                                  .undo_dir = inside };
    g_autoptr(GError) error = NULL;

    g_assert_null(ic_open_share(&options, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY);
    g_assert_false(g_file_test(inside, G_FILE_TEST_EXISTS));
}

static void second_owner(struct guard *f, gconstpointer data)
{
    struct ic_options options = { .share = f->world->share,
                                  .undo_dir = f->world->undo_dir };
    g_autoptr(GError) error = NULL;

    g_assert_null(ic_open_share(&options, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_BUSY);
}

/* Refused before a file is created in it. */
static void log_among_files(struct guard *f, gconstpointer data)
{
    g_autofree char *dir = g_build_filename(f->world->base, "papers", NULL);
    g_autofree char *file = g_build_filename(dir, "letter", NULL);
    g_autofree char *lock = g_build_filename(dir, "lock", NULL);
    struct ic_options options = { .share = f->world->share, .undo_dir = dir };
    g_autoptr(GError) error = NULL;
    struct ic *ic;

    OK(mkdir(dir, 0700));
    g_assert_true(g_file_set_contents(file, "Dear", -1, NULL));
    g_assert_null(ic_open_share(&options, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY);
    g_assert_false(g_file_test(lock, G_FILE_TEST_EXISTS));
    OK(unlink(file));
    ic = ic_open_share(&options, NULL); /* an empty directory is accepted */
    g_assert_nonnull(ic);
    ic_close(ic);
    g_assert_true(g_file_set_contents(file, "Dear", -1, NULL));
    ic = ic_open_share(&options, NULL); /* it is a log now */
    g_assert_nonnull(ic);
    ic_close(ic);
}

static void odd_requests(struct guard *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    g_assert_false(ic_step_open(f->ic, 1, IC_STEP_AMBIENT, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
    g_clear_error(&error);
    g_assert_false(ic_step_open(f->ic, 1, (enum ic_step_type)77, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
    g_clear_error(&error);
    guard_overwrite_file(f);
    g_assert_false(ic_rollback(f->ic, 0, false, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
}

/* A request with zeroes except for the content makes an ordinary file. */
static void plain_write(struct guard *f, gconstpointer data)
{
    struct ic_file_write request = { .path = "new", .data = "x", .len = 1 };
    g_autofree char *path = world_host_path(f->world, "new");
    struct stat st;

    g_assert_true(ic_write_file(f->ic, &request, NULL, NULL));
    OK(stat(path, &st));
    g_assert_cmpuint(st.st_mode & 07777, ==, 0644);
    request.set_mode = true;
    g_assert_true(ic_write_file(f->ic, &request, NULL, NULL));
    OK(stat(path, &st));
    g_assert_cmpuint(st.st_mode & 07777, ==, 0);
    request.mode = 010000;
    g_assert_false(ic_write_file(f->ic, &request, NULL, NULL));
}

static void read_only(struct guard *f, gconstpointer data)
{
    struct ic_options options = { .share = f->world->share, .read_only = true };
    g_autoptr(GError) error = NULL;
    struct ic_inode *inode;
    struct ic *ic = ic_open_share(&options, &error);
    int fd;

    g_assert_no_error(error);
    g_assert_cmpint(ic_unlinkat(ic, ic_root(ic), "file", 0), ==, -EROFS);
    OK(ic_lookup(ic, ic_root(ic), "file", &inode, NULL));
    g_assert_cmpint(ic_open(ic, inode, O_RDWR, &fd), ==, -EROFS);
    OK(ic_open(ic, inode, O_RDONLY, &fd));
    close(fd);
    ic_inode_unref(inode);
    ic_close(ic);
}

/* ---- odd clients --------------------------------------------------------- */

/* The paths have more bytes than a record of the log may have. */
static void long_paths(struct guard *f, gconstpointer data)
{
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    g_autofree char *name = g_strnfill(250, 'n');
    struct ic_inode *at = ic_inode_ref(ic_root(f->ic)), *next;

    guard_open_step(f, 1);
    for (int depth = 0; depth < 600; depth++) {
        OK(ic_mkdirat(f->ic, &f->cred, at, name, 0755, &next, NULL));
        ic_inode_unref(at);
        at = next;
    }
    ic_inode_unref(at);
    guard_close_step(f, 1);
    g_assert_true(ic_rollback(f->ic, 1, false, NULL, NULL));
    world_assert_equal(f->world, before);
}

/* A client hangs up before its replies: that must not kill the server
 * (SIGPIPE). */
static void hung_up(struct guard *f, gconstpointer data)
{
    static const char request[] = "{\"type\":\"status\",\"payload\":{},"
                                  "\"request_id\":\"1\"}\n";

    for (int i = 0; i < 400; i++) {
        int pair[2];

        OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
        for (int j = 0; j < 20; j++)
            g_assert_cmpint(write(pair[0], request, strlen(request)), >, 0);
        g_assert_true(ic_control_attach(f->ic, pair[1], NULL));
        if (i % 2)
            g_usleep((gulong)i); /* half-way */
        close(pair[0]);
    }
    guard_open_step(f, 1);
    guard_close_step(f, 1);
}

static const struct guard_case cases[] = {
    { "/guard/names", names },
    { "/guard/parent-of-root", parent_of_root },
    { "/guard/removed-directory/same-step", removed_directory },
    { "/guard/removed-directory/later-step", removed_directory,
      GINT_TO_POINTER(1) },
    { "/guard/moved-away", moved_away },
    { "/guard/moved-into-another-log", moved_into_another_log },
    { "/guard/log-in-share", log_in_share },
    { "/guard/second-owner", second_owner },
    { "/guard/log-directory-must-be-empty", log_among_files },
    { "/guard/invalid-requests-are-refused", odd_requests },
    { "/guard/zeroed-request-makes-a-plain-file", plain_write },
    { "/guard/read-only", read_only },
    { "/guard/deep-paths-are-undone", long_paths },
    { "/guard/survives-hang-up", hung_up },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    guard_add_cases(cases, G_N_ELEMENTS(cases));
    add_engine_broken_log_tests();
    add_write_parents_tests();
    return g_test_run();
}
