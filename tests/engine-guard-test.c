/* SPDX-License-Identifier: Apache-2.0
 *
 * engine-guard-test - what the engine must refuse: ways out of the share, and
 * undo from a log that is not what it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/errors.h"
#include "interceptor/interceptor.h"
#include "interceptor/journal.h"
#include "tests/oracle.h"
#include "tests/world.h"

struct fixture {
    struct world *world; /* for its folders; never started */
    struct ic *ic;
    struct ic_cred cred;
};

#define OK(call) g_assert_cmpint((call), ==, 0)

static void start(struct fixture *f)
{
    struct ic_options options = {
        .share = f->world->share,
        .undo_dir = f->world->undo_dir,
        .no_timer = true,
    };
    g_autoptr(GError) error = NULL;

    ic_set_log(0, NULL);
    f->ic = ic_open_share(&options, &error);
    g_assert_no_error(error);
}

static void set_up(struct fixture *f, gconstpointer data)
{
    f->world = world_new(&world_folder);
    f->cred = (struct ic_cred){ getuid(), getgid(), 022 };
    world_host_dir(f->world, "dir/sub");
    world_host_file(f->world, "file", "content");
    world_host_file(f->world, "other", "more content");
    start(f);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    ic_close(f->ic);
    world_free(f->world);
}

static void open_step(struct fixture *f, int64_t id)
{
    g_autoptr(GError) error = NULL;

    ic_step_open(f->ic, id, IC_STEP_COMMAND, "test", &error);
    g_assert_no_error(error);
}

static void close_step(struct fixture *f, int64_t id)
{
    g_autoptr(GError) error = NULL;

    ic_step_close(f->ic, id, 0, 0, 0, NULL, &error);
    g_assert_no_error(error);
}

static struct ic_inode *lookup(struct fixture *f, struct ic_inode *dir,
                               const char *name)
{
    struct ic_inode *inode;

    OK(ic_lookup(f->ic, dir, name, &inode, NULL));
    return inode;
}

static char *log_path(struct fixture *f, const char *path)
{
    return g_build_filename(f->world->undo_dir, path, NULL);
}

static void overwrite_file(struct fixture *f)
{
    struct ic_inode *inode = lookup(f, ic_root(f->ic), "file");
    struct iovec iov = { (void *)"new", 3 };
    int fd;

    open_step(f, 1);
    OK(ic_open(f->ic, inode, O_RDWR, &fd));
    g_assert_cmpint(ic_pwritev(f->ic, inode, fd, &iov, 1, 0, 0, false), ==, 3);
    close(fd);
    ic_inode_unref(inode);
    OK(ic_unlinkat(f->ic, ic_root(f->ic), "other", 0));
    close_step(f, 1);
}

/* ---- ways out ------------------------------------------------------------ */

static void names(struct fixture *f, gconstpointer data)
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

static void parent_of_root(struct fixture *f, gconstpointer data)
{
    struct ic_inode *dir = lookup(f, ic_root(f->ic), "dir"), *parent;

    OK(ic_lookup_parent(f->ic, ic_root(f->ic), &parent));
    g_assert_true(parent == ic_root(f->ic));
    ic_inode_unref(parent);
    OK(ic_lookup_parent(f->ic, dir, &parent));
    g_assert_true(parent == ic_root(f->ic));
    ic_inode_unref(parent);
    ic_inode_unref(dir);
}

/* A directory that was removed is in the log; a client that still holds it
 * must not get out by "..", nor make anything in it. */
static void removed_directory(struct fixture *f, gconstpointer data)
{
    bool later_step = GPOINTER_TO_INT(data);
    struct ic_inode *dir = lookup(f, ic_root(f->ic), "dir");
    struct ic_inode *sub = lookup(f, dir, "sub"), *inode;
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    int fd;

    open_step(f, 1);
    OK(ic_unlinkat(f->ic, dir, "sub", AT_REMOVEDIR));
    if (later_step) {
        close_step(f, 1);
        open_step(f, 2);
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
    close_step(f, later_step ? 2 : 1);
    g_assert_true(ic_rollback(f->ic, later_step ? 2 : 1, false, NULL, NULL));
    world_assert_equal(f->world, before);
    /* It is the same directory again, and works. */
    OK(ic_mkdirat(f->ic, &f->cred, sub, "x", 0755, &inode, NULL));
    ic_inode_unref(inode);
    OK(ic_lookup_parent(f->ic, sub, &inode));
    g_assert_true(inode == dir);
    ic_inode_unref(inode);
    ic_inode_unref(sub);
    ic_inode_unref(dir);
}

static void moved_away(struct fixture *f, gconstpointer data)
{
    struct ic_inode *dir = lookup(f, ic_root(f->ic), "dir"), *parent;
    g_autofree char *inside = world_host_path(f->world, "dir");
    g_autofree char *outside = g_build_filename(f->world->base, "away", NULL);

    OK(rename(inside, outside));
    g_assert_cmpint(ic_lookup_parent(f->ic, dir, &parent), ==, -ENOENT);
    g_assert_cmpint(ic_unlinkat(f->ic, dir, "sub", AT_REMOVEDIR), ==, -ESTALE);
    ic_inode_unref(dir);
}

static void log_in_share(struct fixture *f, gconstpointer data)
{
    g_autofree char *inside = world_host_path(f->world, "dir/new/log");
    struct ic_options options = { .share = f->world->share,
                                  .undo_dir = inside };
    g_autoptr(GError) error = NULL;

    g_assert_null(ic_open_share(&options, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY);
    g_assert_false(g_file_test(inside, G_FILE_TEST_EXISTS));
}

static void second_owner(struct fixture *f, gconstpointer data)
{
    struct ic_options options = { .share = f->world->share,
                                  .undo_dir = f->world->undo_dir };
    g_autoptr(GError) error = NULL;

    g_assert_null(ic_open_share(&options, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_BUSY);
}

/* Refused before a file is made in it. */
static void log_among_files(struct fixture *f, gconstpointer data)
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
    ic = ic_open_share(&options, NULL); /* an empty one will do */
    g_assert_nonnull(ic);
    ic_close(ic);
    g_assert_true(g_file_set_contents(file, "Dear", -1, NULL));
    ic = ic_open_share(&options, NULL); /* and it is a log now */
    g_assert_nonnull(ic);
    ic_close(ic);
}

static void odd_requests(struct fixture *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    g_assert_false(ic_step_open(f->ic, 1, IC_STEP_AMBIENT, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
    g_clear_error(&error);
    g_assert_false(ic_step_open(f->ic, 1, (enum ic_step_type)77, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
    g_clear_error(&error);
    overwrite_file(f);
    g_assert_false(ic_rollback(f->ic, 0, false, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
}

/* A request that is all zeroes but for the content makes a usual file. */
static void plain_write(struct fixture *f, gconstpointer data)
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

static void read_only(struct fixture *f, gconstpointer data)
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

/* ---- logs that are not what they were ------------------------------------ */

static void flip_byte(const char *path, off_t offset)
{
    int fd = open(path, O_RDWR);
    char byte;

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(pread(fd, &byte, 1, offset), ==, 1);
    byte ^= 0x40;
    g_assert_cmpint(pwrite(fd, &byte, 1, offset), ==, 1);
    close(fd);
}

/* Nothing is changed, the step stays in the history, and is undone as soon as
 * the log is whole again. */
static void expect_refused(struct fixture *f, int code)
{
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    g_autoptr(GPtrArray) history = NULL;
    g_autoptr(GError) error = NULL;

    g_assert_false(ic_rollback(f->ic, 1, false, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, code);
    world_assert_equal(f->world, before);
    history = ic_history(f->ic, 10, NULL);
    g_assert_cmpuint(history->len, ==, 1);
}

static void corrupt_blob(struct fixture *f, gconstpointer data)
{
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    g_autofree char *blob = log_path(f, "steps/1/blobs/data");

    overwrite_file(f);
    flip_byte(blob, 20);
    expect_refused(f, ERROR_PREIMAGE_CORRUPT);
    flip_byte(blob, 20);
    g_assert_true(ic_rollback(f->ic, 1, false, NULL, NULL));
    world_assert_equal(f->world, before);
}

static void missing_blob(struct fixture *f, gconstpointer data)
{
    g_autofree char *blob = log_path(f, "steps/1/blobs/data");

    overwrite_file(f);
    OK(unlink(blob));
    expect_refused(f, ERROR_PREIMAGE_MISSING);
}

static void missing_inode(struct fixture *f, gconstpointer data)
{
    g_autofree char *folder = log_path(f, "steps/1/blobs");
    g_autoptr(GDir) dir = NULL;
    const char *name;

    overwrite_file(f);
    dir = g_dir_open(folder, 0, NULL);
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);

        if (name[0] == 'i')
            OK(unlink(path));
    }
    expect_refused(f, ERROR_PREIMAGE_MISSING);
}

static void damaged_line(struct fixture *f, gconstpointer data)
{
    g_autofree char *manifest = log_path(f, "steps/1/manifest.jsonl");
    g_autofree char *text = NULL;

    overwrite_file(f);
    g_assert_true(g_file_get_contents(manifest, &text, NULL, NULL));
    flip_byte(manifest, strstr(text, "{\"t\":\"b\"") - text + 12);
    expect_refused(f, ERROR_PREIMAGE_CORRUPT);
    g_assert_true(ic_rollback(f->ic, 1, true, NULL, NULL));
}

/* Killed while the first line was being written. */
static void torn_header(struct fixture *f, gconstpointer data)
{
    g_autofree char *wal = log_path(f, "wal/in_progress");
    g_autofree char *manifest = log_path(f, "wal/in_progress/manifest.jsonl");
    g_autoptr(GPtrArray) before = world_snapshot(f->world);

    ic_close(f->ic);
    OK(g_mkdir_with_parents(wal, 0700));
    g_assert_true(g_file_set_contents(manifest, data, -1, NULL));
    start(f);
    g_assert_null(ic_recovered(f->ic));
    g_assert_false(g_file_test(wal, G_FILE_TEST_EXISTS));
    world_assert_equal(f->world, before);
}

static void other_version(struct fixture *f, gconstpointer data)
{
    g_autofree char *version = log_path(f, "version");
    g_autoptr(GError) error = NULL;

    ic_close(f->ic);
    g_assert_true(g_file_set_contents(version, "99\n", -1, NULL));
    start(f);
    g_assert_null(ic_history(f->ic, 1, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_UNDO_VERSION_MISMATCH);
    ic_close(f->ic);
    g_assert_true(g_file_set_contents(version, "1\n", -1, NULL));
    start(f);
}

/* ---- rollbacks that did not come to their end ---------------------------- */

/* Killed after a directory was put aside and before it was looked into: what
 * was moved into it is there and nowhere else. */
static void killed_while_detaching(struct fixture *f, gconstpointer data)
{
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    struct ic_inode *root = ic_root(f->ic);
    struct ic_inode *dir = lookup(f, root, "dir");
    g_autofree char *step = log_path(f, "steps/1");
    g_autofree char *wal = log_path(f, "wal/in_progress");
    g_autofree char *staging = g_build_filename(wal, "staging", NULL);
    g_autofree char *moved = world_host_path(f->world, "dir2");
    g_autofree char *staged = g_strdup_printf("%s/%ju", staging,
                                              (uintmax_t)ic_inode_ino(dir));
    struct ic_step_info *recovered;

    open_step(f, 1);
    OK(ic_renameat2(f->ic, root, "file", dir, "file", 0));
    OK(ic_renameat2(f->ic, root, "dir", root, "dir2", 0));
    close_step(f, 1);
    ic_inode_unref(dir);
    ic_close(f->ic);
    OK(rename(step, wal));
    OK(mkdir(staging, 0700));
    OK(rename(moved, staged));
    start(f);
    recovered = ic_recovered(f->ic);
    g_assert_nonnull(recovered);
    ic_step_info_free(recovered);
    world_assert_equal(f->world, before);
}

/* Two steps are asked for, and the older one cannot be undone. */
static void half_of_two(struct fixture *f, gconstpointer data)
{
    g_autofree char *made = world_host_path(f->world, "made");
    g_autoptr(GError) error = NULL;
    struct ic_rollback_result *result;
    struct ic_inode *inode;

    overwrite_file(f);
    open_step(f, 2);
    OK(ic_mkdirat(f->ic, &f->cred, ic_root(f->ic), "made", 0755, &inode, NULL));
    ic_inode_unref(inode);
    close_step(f, 2);
    world_host_file(f->world, "file", "from outside, and longer");
    g_assert_false(ic_rollback_steps(f->ic, 2, false, &result, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_UNDO_BARRIER);
    g_test_message("%s", error->message);
    g_assert_true(
        g_str_has_prefix(error->message, "1 of 2 steps undone (2); step 1: "));
    g_assert_cmpuint(result->steps->len, ==, 1);
    ic_rollback_result_free(result);
    g_assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
    g_assert_true(ic_rollback(f->ic, 1, true, NULL, NULL));
}

/* The same of redo, which has its steps again. */
static void half_of_two_redone(struct fixture *f, gconstpointer data)
{
    g_autofree char *made = world_host_path(f->world, "made");
    g_autoptr(GError) error = NULL;
    struct ic_rollback_result *result;
    struct ic_inode *inode;

    overwrite_file(f);
    open_step(f, 2);
    OK(ic_mkdirat(f->ic, &f->cred, ic_root(f->ic), "made", 0755, &inode, NULL));
    ic_inode_unref(inode);
    close_step(f, 2);
    g_assert_true(ic_rollback(f->ic, 2, false, NULL, NULL));
    g_assert_false(ic_redo(f->ic, 0, false, &result, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
    g_clear_error(&error);
    ic_rollback_result_free(result);
    g_assert_false(ic_redo(f->ic, 3, false, &result, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_REDO);
    g_clear_error(&error);
    ic_rollback_result_free(result);
    world_host_file(f->world, "made", "from outside");
    g_assert_false(ic_redo(f->ic, 2, false, &result, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_UNDO_BARRIER);
    g_test_message("%s", error->message);
    g_assert_true(
        g_str_has_prefix(error->message, "1 of 2 steps redone (1); step 2: "));
    g_assert_cmpuint(result->steps->len, ==, 1);
    ic_rollback_result_free(result);
    g_assert_cmpuint(ic_redoable(f->ic), ==, 1);
    g_assert_true(ic_redo(f->ic, 1, true, &result, NULL));
    ic_rollback_result_free(result);
    g_assert_true(g_file_test(made, G_FILE_TEST_IS_DIR));
}

/* By force, it is passed by, and that is said. */
static void passed_by(struct fixture *f, gconstpointer data)
{
    g_autofree char *manifest = log_path(f, "steps/1/manifest.jsonl");
    const struct ic_step_info *info;
    struct ic_rollback_result *result;

    overwrite_file(f);
    OK(unlink(manifest));
    g_assert_true(ic_preview(f->ic, 1, true, &result, NULL));
    info = g_ptr_array_index(result->steps, 0);
    g_assert_true(info->damaged);
    ic_rollback_result_free(result);
    g_assert_true(ic_rollback_steps(f->ic, 1, true, &result, NULL));
    info = g_ptr_array_index(result->steps, 0);
    g_assert_true(info->damaged && !info->undoable);
    g_assert_cmpuint(result->warnings->len, ==, 1);
    ic_rollback_result_free(result);
}

/* An obstacle stops a rollback half-way. Trying again once it is gone takes
 * back that step, not one more. */
static void tried_again(struct fixture *f, gconstpointer data)
{
    const char *log = f->world->undo_dir;
    g_autofree char *obstacle = g_build_filename(log, "steps", "2", "staging",
                                                 NULL);
    g_autofree char *now = g_build_filename(log, "wal", "in_progress",
                                            "staging", NULL);
    struct ic_inode *dir = lookup(f, ic_root(f->ic), "dir");
    g_autoptr(GPtrArray) infos = NULL, history = NULL, before = NULL;
    struct ic_setattr attr = { .valid = IC_SET_MODE, .mode = 0700 };
    g_autoptr(GError) error = NULL;
    struct ic_inode *sub = lookup(f, dir, "sub");

    open_step(f, 1);
    OK(ic_unlinkat(f->ic, ic_root(f->ic), "file", 0));
    close_step(f, 1);
    before = world_snapshot(f->world);
    open_step(f, 2);
    OK(ic_setattr(f->ic, sub, -1, &attr, NULL));
    close_step(f, 2);
    g_assert_true(g_file_set_contents(obstacle, "", 0, NULL));
    g_assert_false(ic_rollback(f->ic, 1, false, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_IO_ERROR);
    g_assert_cmpint(ic_unlinkat(f->ic, ic_root(f->ic), "other", 0), ==, -EIO);
    OK(unlink(now));
    g_assert_true(ic_rollback(f->ic, 1, false, &infos, NULL));
    g_assert_cmpuint(infos->len, ==, 1);
    history = ic_history(f->ic, 10, NULL);
    g_assert_cmpuint(history->len, ==, 1);
    ic_inode_unref(sub);
    ic_inode_unref(dir);
}

static void huge_step_id(struct fixture *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    g_assert_false(
        ic_step_open(f->ic, G_MAXINT64 / 2, IC_STEP_API, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
    open_step(f, 1);
    close_step(f, 1);
}

/* More path bytes than a record of the log may have. */
static void long_paths(struct fixture *f, gconstpointer data)
{
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    g_autofree char *name = g_strnfill(250, 'n');
    struct ic_inode *at = ic_inode_ref(ic_root(f->ic)), *next;

    open_step(f, 1);
    for (int depth = 0; depth < 600; depth++) {
        OK(ic_mkdirat(f->ic, &f->cred, at, name, 0755, &next, NULL));
        ic_inode_unref(at);
        at = next;
    }
    ic_inode_unref(at);
    close_step(f, 1);
    g_assert_true(ic_rollback(f->ic, 1, false, NULL, NULL));
    world_assert_equal(f->world, before);
}

/* A record that could not be read back is refused, and the change with it. */
static void huge_record(struct fixture *f, gconstpointer data)
{
    g_autofree char *text = g_strnfill(JOURNAL_MAX_LINE, 'x');
    g_autofree char *path = log_path(f, "huge");
    struct journal *journal;

    OK(journal_open(AT_FDCWD, path, &journal));
    g_assert_cmpint(journal_append_text(journal, text, strlen(text)), ==,
                    -EFBIG);
    OK(journal_append_text(journal, "{\"t\":1", 6));
    journal_close(journal);
}

/* A client that does not wait for its answers: whoever serves it must not die
 * of that (SIGPIPE). */
static void hung_up(struct fixture *f, gconstpointer data)
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
            g_usleep((gulong)i); /* in the middle of it */
        close(pair[0]);
    }
    open_step(f, 1);
    close_step(f, 1);
}

static const struct {
    const char *path;
    void (*run)(struct fixture *f, gconstpointer data);
    gconstpointer data;
} cases[] = {
    { "/guard/names", names },
    { "/guard/parent-of-root", parent_of_root },
    { "/guard/removed-directory/same-step", removed_directory },
    { "/guard/removed-directory/later-step", removed_directory,
      GINT_TO_POINTER(1) },
    { "/guard/moved-away", moved_away },
    { "/guard/log-in-share", log_in_share },
    { "/guard/second-owner", second_owner },
    { "/guard/log-among-files", log_among_files },
    { "/guard/odd-requests", odd_requests },
    { "/guard/plain-write", plain_write },
    { "/guard/read-only", read_only },
    { "/guard/UL-08/corrupt-blob", corrupt_blob },
    { "/guard/UL-07/missing-blob", missing_blob },
    { "/guard/UL-07/missing-inode", missing_inode },
    { "/guard/UL-06/damaged-line", damaged_line },
    { "/guard/rollback/killed-while-detaching", killed_while_detaching },
    { "/guard/rollback/tried-again", tried_again },
    { "/guard/rollback/half-of-two", half_of_two },
    { "/guard/redo/half-of-two", half_of_two_redone },
    { "/guard/rollback/passed-by", passed_by },
    { "/guard/huge-step-id", huge_step_id },
    { "/guard/long-paths", long_paths },
    { "/guard/huge-record", huge_record },
    { "/guard/CR-07/empty-manifest", torn_header, "" },
    { "/guard/CR-07/torn-header", torn_header, "{\"t\":\"step\",\"v\":1" },
    { "/guard/UL-04/other-version", other_version },
    { "/guard/hung-up", hung_up },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add(cases[i].path, struct fixture, cases[i].data, set_up,
                   cases[i].run, tear_down);
    return g_test_run();
}
