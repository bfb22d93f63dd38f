/* SPDX-License-Identifier: Apache-2.0
 *
 * filesystem-test - undo of what only some file systems do.
 *
 * Each world is on its own file system, on a loop device; without the right to
 * mount one the tests are skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/interceptor.h"
#include "tests/lib/engine_trees.h"
#include "tests/lib/loop_fs.h"

#define MIB ((off_t)1 << 20)

static const struct loop_fs ext4 = { "ext4", "mkfs.ext4 -q -F -m 0", 32 * MIB };
static const struct loop_fs xfs = { "xfs", "mkfs.xfs -q", 320 * MIB };

static bool start_on(struct world *w, const struct loop_fs *fs,
                     void (*fill)(struct world *w))
{
    if (!loop_fs_mount(w, fs)) {
        g_test_skip("no root, loop devices or mkfs for it");
        return false;
    }
    fill(w);
    return world_start(w);
}

static void end_world(struct world *w)
{
    if (w->state)
        w->backend->stop(w);
    loop_fs_unmount(w);
    world_free(w);
}

/* ---- directories that change their parents ------------------------------- */

static void fill_parents(struct world *w)
{
    world_host_dir(w, "a");
    world_host_dir(w, "b");
    world_host_dir(w, "a/x");
    world_host_dir(w, "a/x/sub");
    world_host_dir(w, "b/y");
    world_host_dir(w, "b/empty");
    world_host_file(w, "a/x/g", "g");
    world_host_file(w, "b/f", "f");
    g_usleep(20000); /* a clock tick: later changes have another time */
}

static void exchange_dirs(struct world *w)
{
    DO(rename, "a/x", "b/y", RENAME_EXCHANGE);
}

static void exchange_dir_and_file(struct world *w)
{
    DO(rename, "a/x", "b/f", RENAME_EXCHANGE);
}

static void exchange_file_and_dir(struct world *w)
{
    DO(rename, "b/f", "a/x", RENAME_EXCHANGE);
}

static void exchange_below_new(struct world *w)
{
    DO(mkdir, "new", 0755);
    DO(mkdir, "new/y", 0755);
    DO(rename, "a/x", "new/y", RENAME_EXCHANGE);
}

static void replace_empty(struct world *w)
{
    DO(rename, "a/x", "b/empty", 0);
}

static void replace_moved(struct world *w)
{
    DO(rename, "b/empty", "empty", 0);
    DO(rename, "a/x", "empty", 0);
}

static void rename_dir(struct world *w)
{
    DO(rename, "a/x", "b/x", 0);
    DO(mkdir, "new", 0755);
    DO(rename, "b/y", "new/y", 0);
}

static const struct {
    const char *name;
    void (*change)(struct world *w);
} parents[] = {
    { "exchange", exchange_dirs },
    { "exchange-with-file", exchange_dir_and_file },
    { "exchange-from-file", exchange_file_and_dir },
    { "exchange-below-new", exchange_below_new },
    { "replace-empty", replace_empty },
    { "replace-moved", replace_moved },
    { "rename", rename_dir },
};

/* Undo, redo, and undo again; and interrupt the step. */
static void run_parents(struct world *w, void (*change)(struct world *w))
{
    g_autoptr(GPtrArray) before = world_snapshot(w);
    g_autoptr(GPtrArray) after = NULL;

    world_step(w);
    change(w);
    world_end_step(w);
    after = world_snapshot(w);
    world_undo_to(w, 1, before);
    world_redo_to(w, 1, after);
    world_undo_to(w, 1, before);
    world_step(w);
    change(w);
    w->backend->kill(w);
    if (world_start(w))
        world_assert_equal(w, before);
}

/* XFS changes the mtime of directories that are exchanged. */
static void xfs_parents(gconstpointer backend)
{
    for (size_t i = 0; i < G_N_ELEMENTS(parents); i++) {
        struct world *w = world_new(backend);
        bool started = start_on(w, &xfs, fill_parents);

        g_test_message("%s", parents[i].name);
        if (started)
            run_parents(w, parents[i].change);
        end_world(w);
        if (!started)
            return;
    }
}

/* To a client "mv -T" over an empty directory is a rename, however the engine
 * makes it: the moved directory keeps its mtime. */
static void xfs_keeps_mtime(gconstpointer backend)
{
    struct world *w = world_new(backend);
    struct stat before, after;

    if (start_on(w, &xfs, fill_parents)) {
        DO(stat, "a/x", &before);
        replace_empty(w);
        DO(stat, "b/empty", &after);
        g_assert_cmpint(before.st_ino, ==, after.st_ino);
        g_assert_cmpint(before.st_mtim.tv_sec, ==, after.st_mtim.tv_sec);
        g_assert_cmpint(before.st_mtim.tv_nsec, ==, after.st_mtim.tv_nsec);
    }
    end_world(w);
}

/* ---- append-only inodes -------------------------------------------------- */

static void set_append(struct world *w, const char *path, bool append)
{
    g_autofree char *full = world_host_path(w, path);
    fd_auto int fd = open(full, O_RDONLY | O_CLOEXEC);
    int flags;

    g_assert_cmpint(fd, >=, 0);
    OK(ioctl(fd, FS_IOC_GETFLAGS, &flags));
    flags = append ? flags | FS_APPEND_FL : flags & ~FS_APPEND_FL;
    OK(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

static void fill_fixed(struct world *w)
{
    world_host_dir(w, "d");
    world_host_dir(w, "d/sub");
    world_host_file(w, "d/old", "old");
    world_host_file(w, "log", "a line");
    world_host_file(w, "f", "f");
}

/* The kernel lets names be created in an append-only directory but not removed:
 * a change that cannot be undone is refused. */
static void append_refused(gconstpointer backend)
{
    struct world *w = world_new(backend);
    g_autoptr(GPtrArray) before = NULL;

    if (start_on(w, &ext4, fill_fixed)) {
        set_append(w, "d", true);
        set_append(w, "log", true);
        before = world_snapshot(w);
        world_step(w);
        g_assert_cmpint(engine_put(w, "d/new", O_CREAT, "x"), ==, -EPERM);
        g_assert_cmpint(w->backend->mkdir(w, "d/dir", 0755), ==, -EPERM);
        g_assert_cmpint(w->backend->rename(w, "f", "d/f", 0), ==, -EPERM);
        g_assert_cmpint(w->backend->link(w, "f", "d/f"), ==, -EPERM);
        g_assert_cmpint(w->backend->unlink(w, "d/old"), ==, -EPERM);
        g_assert_cmpint(engine_put(w, "log", O_APPEND, "x"), ==, -EPERM);
        WRITE("d/old", "new"); /* the file itself is not append-only */
        CREATE("d/sub/new", "new");
        CREATE("two", "2");
        world_end_step(w);
        world_undo_to(w, 1, before);
        world_step(w);
        CREATE("two", "2");
        w->backend->kill(w);
        if (world_start(w))
            world_assert_equal(w, before);
        set_append(w, "d", false);
        set_append(w, "log", false);
    }
    end_world(w);
}

/* A step has made d/new, and d became append-only afterwards. */
static int64_t make_stuck(struct world *w)
{
    int64_t id = world_step(w);

    CREATE("d/new", "new");
    WRITE("f", "changed");
    OK(w->backend->unlink(w, "d/old"));
    set_append(w, "d", true);
    return id;
}

static void expect_stuck(struct world *w)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(w->backend->request(w, "rollback",
                                      json_pack("{s:i}", "steps", 1), &error));
    g_assert_cmpint(error_code_of(error), ==, ERROR_IO_ERROR);
    g_assert_nonnull(strstr(error->message, "'d' has become append-only"));
    g_assert_nonnull(strstr(error->message, "chattr -a"));
    g_assert_cmpint(engine_put(w, "other", O_CREAT, "x"), ==, -EIO);
}

/* Another process set the attribute when it was too late to refuse: undo says
 * what to do, and then continues. */
static void append_since(gconstpointer backend)
{
    struct world *w = world_new(backend);
    g_autoptr(GPtrArray) before = NULL;

    if (start_on(w, &ext4, fill_fixed)) {
        before = world_snapshot(w);
        make_stuck(w);
        world_end_step(w);
        expect_stuck(w);
        expect_stuck(w);
        set_append(w, "d", false);
        world_undo_to(w, 1, before);
        CREATE("other", "other");
    }
    end_world(w);
}

/* The last resort: content that only the log has is kept. */
static void append_discard(gconstpointer backend)
{
    struct world *w = world_new(backend);
    g_autofree char *damaged = g_build_filename(w->undo_dir, "damaged/0", NULL);
    g_autoptr(GPtrArray) between = NULL;
    json_t *warning;
    int64_t id;

    if (start_on(w, &ext4, fill_fixed)) {
        world_step(w);
        world_end_step(w);
        id = make_stuck(w);
        world_end_step(w);
        expect_stuck(w);
        between = world_snapshot(w);
        json_decref(world_request(w, "discard", NULL));
        warning = w->backend->event(w, "event.warning");
        g_assert_nonnull(strstr(
            json_string_value(json_object_get(warning, "message")), "damaged"));
        json_decref(warning);
        g_assert_true(g_file_test(damaged, G_FILE_TEST_IS_DIR));
        world_assert_equal(w, between);
        g_assert_cmpuint(world_history_count(w), ==, 0);
        world_refused(w, "step.open", json_pack("{s:I}", "step_id", id),
                      ERROR_INVALID_FIELD);
        id = world_step(w);
        WRITE("f", "again");
        world_end_step(w);
        w->backend->stop(w);
        g_assert_true(world_start(w));
        world_undo_to(w, 1, between);
        g_assert_true(g_file_test(damaged, G_FILE_TEST_IS_DIR));
        set_append(w, "d", false);
    }
    end_world(w);
}

/* A start that cannot roll back an interrupted step says why, and can be told
 * to continue without. */
static void append_start(gconstpointer backend)
{
    struct world *w = world_new(backend);
    struct ic_options options = { .share = w->share, .undo_dir = w->undo_dir };
    g_autoptr(GError) error = NULL;
    struct ic *ic;

    if (start_on(w, &ext4, fill_fixed)) {
        make_stuck(w);
        w->backend->kill(w);
        g_assert_null(ic_open_share(&options, &error));
        g_assert_nonnull(strstr(error->message, "'d' has become append-only"));
        g_assert_nonnull(strstr(error->message, "stepback undo --discard"));
        options.keep_unfinished = true;
        ic = ic_open_share(&options, NULL);
        g_assert_nonnull(ic);
        g_assert_true(ic_discard(ic, NULL));
        ic_close(ic);
        g_assert_true(world_start(w));
        CREATE("other", "other");
        set_append(w, "d", false);
    }
    end_world(w);
}

/* ---- a full disk --------------------------------------------------------- */

enum { NAMES = 300 };

static void fill_names(struct world *w)
{
    g_autofree char *data = g_strnfill(30000, 'x');

    world_host_dir(w, "d");
    for (int i = 0; i < NAMES; i++) {
        g_autofree char *name = g_strdup_printf("d/%d", i);

        world_host_file(w, name, "");
    }
    world_host_file(w, "f", data);
}

/* Leave so many bytes free on the disk. */
static void fill_disk(struct world *w, off_t left)
{
    g_autofree char *path = g_build_filename(w->base, "filling", NULL);
    fd_auto int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    struct statvfs st;
    off_t rest;

    g_assert_cmpint(fd, >=, 0);
    OK(fstatvfs(fd, &st));
    rest = (off_t)(st.f_bavail * st.f_frsize) - left;
    /* The file's own extent map needs some space. */
    while (rest > 0 && fallocate(fd, 0, 0, rest) < 0)
        rest -= 4096;
}

static void drop_reserve(struct world *w)
{
    g_autofree char *path = g_build_filename(w->undo_dir, "reserve", NULL);

    OK(unlink(path));
}

static void full_empty(struct world *w, bool reserve)
{
    int64_t id = world_step(w);
    json_t *report;

    if (!reserve)
        drop_reserve(w);
    fill_disk(w, 0);
    g_assert_cmpint(engine_put(w, "f", O_TRUNC, "much"), ==, -ENOSPC);
    report = world_close_step(w);
    g_assert_true(json_is_false(json_object_get(report, "undoable")));
    json_decref(report);
    w->backend->stop(w);
    g_assert_true(world_start(w)); /* its id stays used */
    world_refused(w, "step.open", json_pack("{s:I}", "step_id", id),
                  ERROR_INVALID_FIELD);
}

static void rename_much(struct world *w)
{
    g_autofree char *tail = g_strnfill(200, 'r');
    int done = 0;

    for (int i = 0; i < NAMES; i++) {
        g_autofree char *from = g_strdup_printf("d/%d", i);
        g_autofree char *to = g_strdup_printf("d/%d-%s", i, tail);
        int rc = w->backend->rename(w, from, to, 0);

        g_assert_true(rc == 0 || rc == -ENOSPC);
        done += rc == 0;
    }
    g_assert_cmpint(done, >, 0);
}

/* The end of a step needs more space than there is. */
static void full_end(struct world *w, bool reserve)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);
    json_t *report;

    world_step(w);
    if (!reserve)
        drop_reserve(w);
    fill_disk(w, 64 << 10);
    rename_much(w);
    report = world_close_step(w);
    g_assert_true(json_is_true(json_object_get(report, "undoable")));
    json_decref(report);
    w->backend->stop(w);
    g_assert_true(world_start(w));
    g_assert_cmpuint(world_history_count(w), ==, 1);
    world_undo_to(w, 1, before);
}

static void full_killed(struct world *w, bool reserve)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);

    world_step(w);
    if (!reserve)
        drop_reserve(w);
    fill_disk(w, 64 << 10);
    rename_much(w);
    w->backend->kill(w);
    g_assert_true(world_start(w));
    world_assert_equal(w, before);
}

static const struct {
    void (*run)(struct world *w, bool reserve);
    bool reserve;
} fulls[] = {
    { full_empty, true }, { full_empty, false }, { full_end, true },
    { full_end, false },  { full_killed, true },
};

static void full(gconstpointer backend)
{
    for (size_t i = 0; i < G_N_ELEMENTS(fulls); i++) {
        struct world *w = world_new(backend);
        bool started = start_on(w, &ext4, fill_names);

        if (started)
            fulls[i].run(w, fulls[i].reserve);
        end_world(w);
        if (!started)
            return;
    }
}

static const struct world_case cases[] = {
    { "xfs/parents-change", xfs_parents },
    { "xfs/keeps-mtime", xfs_keeps_mtime },
    { "append-only/refused", append_refused },
    { "append-only/undo-continues-afterwards", append_since },
    { "append-only/discard-keeps-content", append_discard },
    { "append-only/start-can-go-on-without", append_start },
};

/* Backends with the log on the same disk. */
static const struct world_backend *const full_backends[] = { &world_folder,
                                                             &world_mount };

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    /* In a private mount namespace no mount outlives the test. */
    if (unshare(CLONE_NEWNS) == 0)
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    world_add_cases("/filesystem", WORLD_WITHOUT_9P, cases,
                    G_N_ELEMENTS(cases));
    for (size_t i = 0; i < G_N_ELEMENTS(full_backends); i++) {
        g_autofree char *path = g_strdup_printf("/filesystem/%s/full",
                                                full_backends[i]->name);

        g_test_add_data_func(path, full_backends[i], full);
    }
    return g_test_run();
}
