/* SPDX-License-Identifier: Apache-2.0
 *
 * filesystem-test - undo of what only some filesystems do.
 *
 * Each world lies on a filesystem of its own, on a loop device; without the
 * right to mount one the tests are skipped.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "tests/engine_cases.h"
#include "tests/loop_fs.h"

#define MIB ((off_t)1 << 20)

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
    g_usleep(20000); /* a clock tick: what is changed from here on shows */
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

/* Undone, redone, undone again; and interrupted. */
static void run_parents(struct world *w, void (*change)(struct world *w))
{
    g_autoptr(GPtrArray) before = world_snapshot(w);
    g_autoptr(GPtrArray) after = NULL;
    int64_t id = world_step(w);

    change(w);
    json_decref(world_close_step(w, id));
    after = world_snapshot(w);
    json_decref(world_undo(w, 1));
    world_assert_equal(w, before);
    json_decref(world_redo(w, 1));
    world_assert_equal(w, after);
    json_decref(world_undo(w, 1));
    world_assert_equal(w, before);
    world_step(w);
    change(w);
    w->backend->kill(w);
    if (world_start(w))
        world_assert_equal(w, before);
}

/* XFS gives directories that are exchanged a new mtime. */
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

/* For a client "mv -T" over an empty directory is a rename, however it is
 * made: what it moves keeps its mtime. */
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

static const struct world_backend *const backends[] = {
    &world_folder,
    &world_folder_copy,
    &world_mount,
};

static const struct {
    const char *name;
    void (*run)(gconstpointer backend);
} cases[] = {
    { "xfs/parents", xfs_parents },
    { "xfs/keeps-mtime", xfs_keeps_mtime },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    /* So that nothing stays mounted, whatever happens. */
    if (unshare(CLONE_NEWNS) == 0)
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(backends); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(cases); j++) {
            g_autofree char *path = g_strdup_printf(
                "/filesystem/%s/%s", backends[i]->name, cases[j].name);

            g_test_add_data_func(path, backends[i], cases[j].run);
        }
    }
    return g_test_run();
}
