/* SPDX-License-Identifier: Apache-2.0
 *
 * model-test - random operations in random steps, undone and compared.
 *
 * A seed makes a tree, then steps of random operations on random paths; after
 * each step the tree is remembered. Then steps are undone, some at a time,
 * with crashes of the process in between, and each tree must be the remembered
 * one. A failure prints its seed; STEPBACK_MODEL_SEED runs that seed alone,
 * STEPBACK_MODEL_SEEDS that many seeds, and STEPBACK_MODEL_TRACE=1 prints the
 * operations.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/oracle.h"
#include "tests/world.h"

enum { STEPS = 12, OPS_A_STEP = 25, NAMES = 9, MAX_DEPTH = 4 };

struct model {
    struct world *w;
    GRand *rand;
    bool trace;
    GPtrArray *handles; /* open files */
    GPtrArray *before;  /* snapshots: of the tree before each kept step */
};

static const char *const names[NAMES] = { "a", "b",   "c",   "d", "e\xff",
                                          "f", "g g", "h\n", "i" };

static guint pick(struct model *m, guint below)
{
    return (guint)g_rand_int_range(m->rand, 0, (gint32)below);
}

static char *random_path(struct model *m)
{
    GString *path = g_string_new(names[pick(m, NAMES)]);

    for (guint depth = pick(m, MAX_DEPTH); depth > 0; depth--)
        g_string_append_printf(path, "/%s", names[pick(m, NAMES)]);
    return g_string_free(path, FALSE);
}

/* A path that exists, mostly: random paths seldom do. */
static char *existing_path(struct model *m)
{
    for (int i = 0; i < 12; i++) {
        char *path = random_path(m);
        struct stat st;

        if (m->w->backend->stat(m->w, path, &st) == 0)
            return path;
        g_free(path);
    }
    return random_path(m);
}

static void trace(struct model *m, const char *op, const char *a, const char *b,
                  int rc)
{
    if (m->trace) {
        g_autofree char *shown_a = g_strescape(a ? a : "", NULL);
        g_autofree char *shown_b = g_strescape(b ? b : "", NULL);

        g_test_message("%s %s %s: %s", op, shown_a, shown_b, g_strerror(-rc));
    }
}

static void op_put(struct model *m)
{
    g_autofree char *path = pick(m, 2) ? random_path(m) : existing_path(m);
    g_autofree char *data = g_strnfill(1 + pick(m, 5000),
                                       (char)('a' + pick(m, 26)));
    int flags[] = { O_CREAT, O_CREAT | O_EXCL, O_CREAT | O_TRUNC, 0, O_APPEND };
    int flag = flags[pick(m, G_N_ELEMENTS(flags))];
    struct stat st;

    /* A write to a FIFO would wait for a reader. */
    if (m->w->backend->stat(m->w, path, &st) == 0 && !S_ISREG(st.st_mode))
        return;
    trace(m, "put", path, NULL,
          m->w->backend->put(m->w, path, flag, data, strlen(data),
                             pick(m, 20000)));
}

static void op_mkdir(struct model *m)
{
    g_autofree char *path = random_path(m);

    trace(m, "mkdir", path, NULL, m->w->backend->mkdir(m->w, path, 0755));
}

static void op_rename(struct model *m)
{
    g_autofree char *from = existing_path(m);
    g_autofree char *to = pick(m, 2) ? random_path(m) : existing_path(m);
    unsigned flags[] = { 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE };

    trace(m, "rename", from, to,
          m->w->backend->rename(m->w, from, to, flags[pick(m, 4)]));
}

static void op_remove(struct model *m)
{
    g_autofree char *path = existing_path(m);
    int rc = m->w->backend->unlink(m->w, path);

    if (rc == -EISDIR)
        rc = m->w->backend->rmdir(m->w, path);
    trace(m, "remove", path, NULL, rc);
}

static void op_link(struct model *m)
{
    g_autofree char *from = existing_path(m), *to = random_path(m);

    trace(m, "link", from, to, m->w->backend->link(m->w, from, to));
}

static void op_symlink(struct model *m)
{
    g_autofree char *target = random_path(m), *path = random_path(m);

    trace(m, "symlink", target, path,
          m->w->backend->symlink(m->w, target, path));
}

static void op_mknod(struct model *m)
{
    g_autofree char *path = random_path(m);

    trace(m, "mkfifo", path, NULL,
          m->w->backend->mknod(m->w, path, S_IFIFO | 0644, 0));
}

static void op_chmod(struct model *m)
{
    g_autofree char *path = existing_path(m);
    mode_t modes[] = { 0644, 0755, 0700, 04755, 02775, 01777, 0600 };
    struct stat st;

    if (m->w->backend->stat(m->w, path, &st) == 0 && S_ISLNK(st.st_mode))
        return; /* a mount would follow it */
    trace(m, "chmod", path, NULL,
          m->w->backend->chmod(m->w, path, modes[pick(m, 7)]));
}

static void op_utimes(struct model *m)
{
    g_autofree char *path = existing_path(m);
    struct timespec times[2] = { { pick(m, 1000), 5 },
                                 { pick(m, 1000000), pick(m, 1000000) } };

    trace(m, "utimes", path, NULL, m->w->backend->utimes(m->w, path, times));
}

static void op_truncate(struct model *m)
{
    g_autofree char *path = existing_path(m);
    struct stat st;

    if (m->w->backend->stat(m->w, path, &st) == 0 && !S_ISREG(st.st_mode))
        return;
    trace(m, "truncate", path, NULL,
          m->w->backend->truncate(m->w, path, pick(m, 100000)));
}

static void op_xattr(struct model *m)
{
    g_autofree char *path = existing_path(m);
    g_autofree char *name = g_strdup_printf("user.%c", 'a' + (char)pick(m, 3));

    if (pick(m, 3))
        trace(m, "setxattr", path, name,
              m->w->backend->setxattr(m->w, path, name, name, pick(m, 7)));
    else
        trace(m, "removexattr", path, name,
              m->w->backend->removexattr(m->w, path, name));
}

static void op_fallocate(struct model *m)
{
    g_autofree char *path = existing_path(m);
    struct stat st;

    if (m->w->backend->stat(m->w, path, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    trace(m, "punch", path, NULL,
          m->w->backend->fallocate(m->w, path,
                                   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                   (off_t)pick(m, 4) * 4096, 8192));
}

static void op_copy(struct model *m)
{
    g_autofree char *from = existing_path(m), *to = existing_path(m);
    struct stat a, b;

    if (m->w->backend->stat(m->w, from, &a) < 0 ||
        m->w->backend->stat(m->w, to, &b) < 0 || !S_ISREG(a.st_mode) ||
        !S_ISREG(b.st_mode) || a.st_ino == b.st_ino)
        return;
    trace(m, "copy", from, to,
          m->w->backend->copy_range(m->w, from, to, 0, pick(m, 3000), 4000));
}

static void op_handle(struct model *m)
{
    g_autofree char *path = existing_path(m);
    struct stat st;

    if (m->w->backend->stat(m->w, path, &st) == 0 && S_ISREG(st.st_mode) &&
        m->handles->len < 8) {
        trace(m, "open", path, NULL, 0);
        g_ptr_array_add(m->handles, m->w->backend->open(m->w, path, O_RDWR));
    } else if (m->handles->len > 0) {
        guint i = pick(m, m->handles->len);
        void *handle = g_ptr_array_index(m->handles, i);

        trace(m, "write to a handle", NULL, NULL,
              m->w->backend->write(m->w, handle, "through a handle", 16,
                                   pick(m, 5000)));
        if (pick(m, 3) == 0) {
            m->w->backend->close(m->w, handle);
            g_ptr_array_remove_index(m->handles, i);
        }
    }
}

static void (*const operations[])(struct model *m) = {
    op_put,     op_put,       op_put,    op_mkdir,  op_mkdir,
    op_mkdir,   op_rename,    op_rename, op_rename, op_rename,
    op_remove,  op_remove,    op_remove, op_link,   op_link,
    op_symlink, op_mknod,     op_chmod,  op_utimes, op_truncate,
    op_xattr,   op_fallocate, op_copy,   op_handle, op_handle,
};

static void close_handles(struct model *m)
{
    for (guint i = 0; i < m->handles->len; i++)
        m->w->backend->close(m->w, g_ptr_array_index(m->handles, i));
    g_ptr_array_set_size(m->handles, 0);
}

static void run_operations(struct model *m, guint count)
{
    for (guint i = 0; i < count; i++)
        operations[pick(m, G_N_ELEMENTS(operations))](m);
}

static void run_step(struct model *m)
{
    GPtrArray *before = world_snapshot(m->w);
    int64_t id = world_step(m->w);
    json_t *report;

    run_operations(m, 1 + pick(m, OPS_A_STEP));
    report = world_close_step(m->w, id);
    if (json_is_true(json_object_get(report, "undoable")))
        g_ptr_array_add(m->before, before);
    else
        g_ptr_array_unref(before);
    json_decref(report);
}

static void crash_step(struct model *m)
{
    g_autoptr(GPtrArray) before = world_snapshot(m->w);

    if (m->trace)
        g_test_message("a step that is not completed");
    world_step(m->w);
    run_operations(m, 1 + pick(m, OPS_A_STEP));
    close_handles(m);
    m->w->backend->kill(m->w);
    g_assert_true(world_start(m->w));
    world_assert_equal(m->w, before);
}

static void undo_some(struct model *m)
{
    guint count = m->before->len ? 1 + pick(m, MIN(m->before->len, 3)) : 0;

    if (count == 0)
        return;
    if (m->trace)
        g_test_message("undo %u", count);
    json_decref(world_undo(m->w, count));
    world_assert_equal(m->w,
                       g_ptr_array_index(m->before, m->before->len - count));
    g_ptr_array_set_size(m->before, (gint)(m->before->len - count));
}

static void run_seed(const struct world_backend *backend, guint32 seed)
{
    struct model m = {
        .w = world_new(backend),
        .rand = g_rand_new_with_seed(seed),
        .trace = g_getenv("STEPBACK_MODEL_TRACE") != NULL,
        .handles = g_ptr_array_new(),
        .before = g_ptr_array_new_with_free_func(
            (GDestroyNotify)g_ptr_array_unref),
    };

    g_test_message("seed %u", seed);
    if (world_start(m.w)) {
        for (int i = 0; i < STEPS && !g_test_failed(); i++) {
            guint choice = pick(&m, 10);

            if (choice == 0)
                crash_step(&m);
            else if (choice <= 2)
                undo_some(&m);
            else
                run_step(&m);
        }
        while (m.before->len > 0 && !g_test_failed())
            undo_some(&m);
        close_handles(&m);
    }
    if (g_test_failed())
        g_test_message("failed with STEPBACK_MODEL_SEED=%u", seed);
    world_free(m.w);
    g_ptr_array_unref(m.before);
    g_ptr_array_unref(m.handles);
    g_rand_free(m.rand);
}

static void run_seeds(gconstpointer data)
{
    const struct world_backend *backend = data;
    const char *one = g_getenv("STEPBACK_MODEL_SEED");
    const char *many = g_getenv("STEPBACK_MODEL_SEEDS");
    guint count = many ? (guint)atoi(many) : backend == &world_mount ? 20 : 60;

    if (one) {
        run_seed(backend, (guint32)strtoul(one, NULL, 10));
        return;
    }
    for (guint32 seed = 1; seed <= count && !g_test_failed(); seed++)
        run_seed(backend, seed);
}

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/model/folder", &world_folder, run_seeds);
    g_test_add_data_func("/model/folder-copy", &world_folder_copy, run_seeds);
    g_test_add_data_func("/model/mount", &world_mount, run_seeds);
    return g_test_run();
}
