/* SPDX-License-Identifier: Apache-2.0
 *
 * content-test - what a step keeps of large files is sufficient and small.
 *
 * Each case changes one file in a step, in ways that touch some blocks and not
 * others, and undoes it; with the log on the same and on another file system,
 * over a real mount, and, as root, on btrfs and XFS on loop devices, where
 * content is kept by reflink (UL-09).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/log/content.h"
#include "interceptor/log/pack.h"
#include "tests/lib/loop_fs.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

enum { KIB = 1 << 10, MIB = 1 << 20, SIZE = 3 * MIB + 12345 };

#define OK(call)    g_assert_cmpint((call), ==, 0)
#define DO(op, ...) OK(w->backend->op(w, __VA_ARGS__))

static void fill_holey(struct world *w, const char *name)
{
    g_autofree char *path = world_host_path(w, name);

    world_host_file(w, name, "begins with data");
    OK(truncate(path, 13321));
}

/* Write content that differs at every offset, with a hole. */
static void fill(struct world *w)
{
    g_autofree char *path = world_host_path(w, "large");
    g_autofree uint32_t *data = g_new(uint32_t, SIZE / 4 + 1);
    fd_auto int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

    for (uint32_t i = 0; i < SIZE / 4 + 1; i++)
        data[i] = i * 2654435761u;
    g_assert_cmpint(pwrite(fd, data, MIB, 0), ==, MIB);
    g_assert_cmpint(pwrite(fd, data, SIZE - 2 * MIB, 2 * MIB), ==,
                    SIZE - 2 * MIB);
    world_host_file(w, "small", "a small file");
    fill_holey(w, "holey");
    fill_holey(w, "holey2");
}

static void put(struct world *w, off_t offset, size_t len)
{
    g_autofree char *data = g_strnfill(len, '#');

    DO(put, "large", 0, data, len, offset);
}

/* ---- changes ------------------------------------------------------------- */

static void first_block(struct world *w)
{
    put(w, 10, 1);
}

static void block_edges(struct world *w)
{
    put(w, CONTENT_BLOCK - 1, 1);
    put(w, CONTENT_BLOCK, 1);
    put(w, 5 * CONTENT_BLOCK - 1, 2);
    put(w, 20 * CONTENT_BLOCK - 1, CONTENT_BLOCK + 2);
}

static void into_hole(struct world *w)
{
    put(w, MIB + 300 * KIB, 5000);
    put(w, MIB - 3, 7);
}

static void over_end(struct world *w)
{
    put(w, SIZE - 10, 5000);
    put(w, SIZE + 200 * KIB, 100);
}

static void append_only(struct world *w)
{
    DO(put, "large", O_APPEND, "appended", 8, 0);
    put(w, SIZE + 8, 100);
}

static void cut_and_grow(struct world *w)
{
    DO(truncate, "large", MIB / 2 + 77);
    DO(truncate, "large", SIZE + MIB);
    put(w, 2 * MIB, 5);
}

static void grow_only(struct world *w)
{
    DO(truncate, "large", SIZE + MIB);
}

static void cut_to_nothing(struct world *w)
{
    DO(put, "large", O_TRUNC, "x", 1, 0);
}

/* The file ends in a hole, in a block that is filled when it grows. */
static void grow_from_hole(struct world *w)
{
    DO(put, "holey", O_APPEND, "appended", 8, 0);
    DO(put, "holey2", 0, "beyond", 6, 13321);
}

static void append_then_cut(struct world *w)
{
    DO(put, "large", O_APPEND, "appended", 8, 0);
    DO(truncate, "large", 100);
    put(w, 0, 1000);
}

static void try_fallocate(struct world *w, int mode, off_t offset, off_t len)
{
    int rc = w->backend->fallocate(w, "large", mode, offset, len);

    if (rc != -EOPNOTSUPP)
        OK(rc);
}

static void punch(struct world *w)
{
    try_fallocate(w, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
                  300 * KIB);
    try_fallocate(w, FALLOC_FL_ZERO_RANGE, 2 * MIB + 3, 4096);
    put(w, 8192, 10);
}

static void collapse(struct world *w)
{
    put(w, 5, 5);
    try_fallocate(w, FALLOC_FL_COLLAPSE_RANGE, 64 * KIB, 128 * KIB);
    put(w, 2 * MIB, 10);
}

static void insert(struct world *w)
{
    try_fallocate(w, FALLOC_FL_INSERT_RANGE, 128 * KIB, 64 * KIB);
    put(w, 100 * KIB, 100 * KIB);
}

static void allocate_hole(struct world *w)
{
    try_fallocate(w, 0, MIB + 4096, 64 * KIB);
    try_fallocate(w, FALLOC_FL_KEEP_SIZE, SIZE, MIB);
}

static void copy_inside(struct world *w)
{
    DO(copy_range, "large", "large", 2 * MIB, 17, 200 * KIB);
    DO(copy_range, "small", "large", 0, MIB, 12);
}

/* Ranges of two files alternate in the pack. */
static void take_turns(struct world *w)
{
    for (int i = 0; i < 12; i++) {
        put(w, i * 2 * CONTENT_BLOCK, 3);
        DO(put, "small", O_APPEND, "more", 4, 0);
        if (i == 5)
            DO(put, "small", O_TRUNC, "n", 1, 0);
    }
}

static void then_removed(struct world *w)
{
    put(w, 100, 100);
    DO(unlink, "large");
}

static void through_handle(struct world *w)
{
    void *handle = w->backend->open(w, "large", O_RDWR);

    DO(unlink, "large");
    OK(w->backend->write(w, handle, "gone", 4, 2 * MIB));
    w->backend->close(w, handle);
    DO(put, "large", O_CREAT | O_EXCL, "another", 7, 0);
}

static void over_the_name(struct world *w)
{
    put(w, 9, 9);
    DO(rename, "small", "large", 0);
}

static const struct {
    const char *id;
    void (*change)(struct world *w);
} cases[] = {
    { "first-block", first_block },
    { "block-edges", block_edges },
    { "into-hole", into_hole },
    { "over-end", over_end },
    { "append-only", append_only },
    { "UI-10/cut-and-grow", cut_and_grow },
    { "grow-only", grow_only },
    { "grow-from-hole", grow_from_hole },
    { "UI-09/cut-to-nothing", cut_to_nothing },
    { "append-then-cut", append_then_cut },
    { "UI-14/punch", punch },
    { "UI-14/collapse", collapse },
    { "UI-14/insert", insert },
    { "UI-14/allocate", allocate_hole },
    { "UI-15/copy-inside", copy_inside },
    { "ranges-alternate", take_turns },
    { "then-removed", then_removed },
    { "through-handle", through_handle },
    { "over-the-name", over_the_name },
};

/* ---- running ------------------------------------------------------------- */

static void run_case(struct world *w, guint number)
{
    g_autoptr(GPtrArray) before = NULL;

    g_test_message("%s", cases[number].id);
    fill(w);
    if (!world_start(w))
        return;
    before = world_snapshot(w);
    world_step(w);
    cases[number].change(w);
    world_end_step(w);
    world_assert_changed(w, before);
    world_undo_to(w, 1, before);
    /* And in a step that is never completed. */
    world_step(w);
    cases[number].change(w);
    w->backend->kill(w);
    g_assert_true(world_start(w));
    world_assert_equal(w, before);
}

struct bound {
    const struct world_backend *backend;
    guint number;
};

static void run_bound(gconstpointer data)
{
    const struct bound *bound = data;
    world_auto struct world *w = world_new(bound->backend);

    run_case(w, bound->number);
}

/* ---- cost ---------------------------------------------------------------- */

static int64_t log_size(struct world *w, const char *name)
{
    g_autofree char *path = g_build_filename(w->undo_dir, "steps/1/blobs", name,
                                             NULL);
    struct stat st;

    return stat(path, &st) < 0 ? -1 : (int64_t)st.st_size;
}

static int64_t log_bytes(struct world *w)
{
    return MAX(log_size(w, PACK_NAME), 0) +
           MAX(log_size(w, PACK_COMPRESSED), 0);
}

static void small_cost(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autofree char *path = world_host_path(w, "huge");
    g_autoptr(GPtrArray) before = NULL;

    world_host_file(w, "huge", "x");
    OK(truncate(path, (off_t)1 << 30));
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        DO(put, "huge", 0, "four", 4, (off_t)1 << 29);
        DO(put, "huge", 0, "more", 4, ((off_t)1 << 29) + 5000);
        world_end_step(w);
        g_assert_cmpint(log_bytes(w), <=, MIB);
        world_undo_to(w, 1, before);
    }
}

/* However long a hole is. */
static void hole_cost(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autofree char *path = world_host_path(w, "huge");
    g_autoptr(GPtrArray) before = NULL;

    world_host_file(w, "huge", "x");
    OK(truncate(path, (off_t)1 << 30));
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        DO(put, "huge", 0, "four", 4, (off_t)1 << 29);
        DO(truncate, "huge", 0);
        world_end_step(w);
        g_assert_cmpint(log_bytes(w), <=, 10000);
        world_undo_to(w, 1, before);
    }
}

static bool wait_for_compressed(struct world *w)
{
    for (int i = 0; i < 3000; i++) {
        if (log_size(w, PACK_NAME) < 0)
            return log_size(w, PACK_COMPRESSED) > 0;
        g_usleep(10000);
    }
    return false;
}

static void compressed(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autofree char *text = g_strnfill(MIB, 'c');
    g_autoptr(GPtrArray) before = NULL;

    world_host_file(w, "dull", text);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        DO(put, "dull", O_TRUNC, "x", 1, 0);
        world_end_step(w);
        g_assert_true(wait_for_compressed(w));
        g_assert_cmpint(log_size(w, PACK_COMPRESSED), <, 10000);
        world_undo_to(w, 1, before);
    }
}

/* A step is undone while its content is being compressed. */
static void compress_races_undo(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;

    fill(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        for (int i = 0; i < 20; i++) {
            world_step(w);
            cut_to_nothing(w);
            world_end_step(w);
            g_usleep((gulong)i * 500);
            world_undo_to(w, 1, before);
        }
    }
}

/* ---- reflinks ------------------------------------------------------------ */

static const struct loop_fs filesystems[] = {
    { "btrfs", "mkfs.btrfs -q", (off_t)256 * MIB },
    { "xfs", "mkfs.xfs -q -m reflink=1", (off_t)400 * MIB },
};

static bool has_clone(struct world *w)
{
    return log_size(w, "f1") >= 0;
}

static void run_on_fs(const struct world_backend *backend,
                      const struct loop_fs *fs)
{
    for (guint i = 0; i < G_N_ELEMENTS(cases) && !g_test_failed(); i++) {
        world_auto struct world *w = world_new(backend);

        if (loop_fs_mount(w, fs)) {
            run_case(w, i);
            if (w->state)
                w->backend->stop(w);
            loop_fs_unmount(w);
        } else {
            g_test_skip("no root, loop devices or mkfs for it");
            i = G_N_ELEMENTS(cases);
        }
    }
}

/* UL-09: the preimage is a reflink, and costs no copy. */
static void reflink(gconstpointer data)
{
    const struct loop_fs *fs = data;
    world_auto struct world *w = world_new(&world_folder);
    g_autoptr(GPtrArray) before = NULL;

    if (loop_fs_mount(w, fs)) {
        fill(w);
        g_assert_true(world_start(w));
        before = world_snapshot(w);
        world_step(w);
        first_block(w);
        DO(put, "small", 0, "S", 1, 0); /* too small to be worth it */
        world_end_step(w);
        g_assert_true(has_clone(w));
        g_assert_cmpint(log_bytes(w), <, 4096);
        world_undo_to(w, 1, before);
        w->backend->stop(w);
        loop_fs_unmount(w);
    } else {
        g_test_skip("no root, loop devices or mkfs for it");
    }
}

static void all_on_fs(gconstpointer data)
{
    run_on_fs(&world_folder, data);
}

static void all_on_mounted_fs(gconstpointer data)
{
    run_on_fs(&world_mount, data);
}

static void add(const char *group, const char *id, gconstpointer data,
                GTestDataFunc run)
{
    g_autofree char *path = g_strdup_printf("/%s/%s", group, id);

    g_test_add_data_func(path, data, run);
}

static void add_backend(const struct world_backend *backend)
{
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct bound *bound = g_new(struct bound, 1);

        *bound = (struct bound){ backend, i };
        add(backend->name, cases[i].id, bound, run_bound);
    }
    add(backend->name, "small-cost", backend, small_cost);
    add(backend->name, "hole-cost", backend, hole_cost);
    add(backend->name, "compressed", backend, compressed);
    add(backend->name, "compress-races-undo", backend, compress_races_undo);
}

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    add_backend(&world_folder);
    add_backend(&world_folder_copy);
    add_backend(&world_mount);
    for (size_t i = 0; i < G_N_ELEMENTS(filesystems); i++) {
        const struct loop_fs *fs = &filesystems[i];

        add(fs->name, "UL-09/reflink", fs, reflink);
        add(fs->name, "all", fs, all_on_fs);
        add(fs->name, "all-mounted", fs, all_on_mounted_fs);
    }
    return g_test_run();
}
