/* SPDX-License-Identifier: Apache-2.0
 *
 * engine-test - the undo engine: steps taken back, by the testing plan's ids,
 * over every backend (world.h). Each case changes a tree in a step, undoes
 * the step, and has the oracle compare the whole tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/oracle.h"
#include "tests/world.h"

/* A case that fills a tree, changes it in one step, and checks the report. */
struct undo_case {
    const char *id;
    void (*fill)(struct world *w);
    void (*change)(struct world *w);
    void (*check)(struct world *w, json_t *report); /* may be NULL */
};

#define OK(call) g_assert_cmpint((call), ==, 0)

static int put(struct world *w, const char *path, int flags, const char *text)
{
    return w->backend->put(w, path, flags, text, strlen(text), 0);
}

#define CREATE(path, text) OK(put(w, path, O_CREAT | O_EXCL, text))
#define WRITE(path, text)  OK(put(w, path, 0, text))
#define DO(op, ...)        OK(w->backend->op(w, __VA_ARGS__))

static void fill_small(struct world *w)
{
    g_autofree char *large = g_strnfill(1000000, 'x');

    world_host_dir(w, "src/components");
    world_host_dir(w, "empty-dir");
    world_host_file(w, "empty.txt", "");
    world_host_file(w, "small.txt", "hello world");
    world_host_file(w, "large.bin", large);
    world_host_file(w, "src/main.c", "int main(void) { return 0; }\n");
    world_host_file(w, "src/components/app.c", "static int app;\n");
    world_host_file(w, "run.sh", "#!/bin/sh\necho ok\n");
    g_autofree char *script = world_host_path(w, "run.sh");
    OK(chmod(script, 0755));
}

/* ---- UI-01 .. UI-05 -------------------------------------------------------- */

static void ui01_change(struct world *w)
{
    WRITE("small.txt", "first");
    WRITE("small.txt", "second change");
    OK(w->backend->put(w, "small.txt", O_APPEND, "third", 5, 0));
}

static void ui01_check(struct world *w, json_t *report)
{
    g_autofree char *blobs =
        g_strdup_printf("%s/steps/1/blobs", w->undo_dir);
    g_autoptr(GDir) dir = g_dir_open(blobs, 0, NULL);
    int count = 0;

    while (g_dir_read_name(dir))
        count++;
    g_assert_cmpint(count, ==, 1); /* one preimage for three writes */
    world_assert_affected(report, "small.txt", NULL);
}

static void ui02_change(struct world *w)
{
    CREATE("src/new.txt", "new content");
    WRITE("src/new.txt", "and more of it");
}

static void ui02_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "src/new.txt", NULL);
}

static void ui03_change(struct world *w)
{
    DO(mkdir, "a", 0755);
    DO(mkdir, "a/b", 0700);
    DO(mkdir, "a/b/c", 0755);
    CREATE("a/b/c/file", "x");
    CREATE("a/top", "y");
}

static void ui03_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "a", "a/b", "a/b/c", "a/b/c/file", "a/top",
                          NULL);
}

static void ui04_fill(struct world *w)
{
    fill_small(w);
    world_host_file(w, "doomed", "rich file");
    g_autofree char *path = world_host_path(w, "doomed");
    OK(chmod(path, 04751));
}

static void ui04_change(struct world *w)
{
    DO(unlink, "doomed");
}

static void ui04_check(struct world *w, json_t *report)
{
    struct stat st;

    g_assert_cmpint(w->backend->stat(w, "doomed", &st), ==, -ENOENT);
    world_assert_affected(report, "doomed", NULL);
}

static void remove_tree(struct world *w, const char *path)
{
    g_autofree char *full = world_host_path(w, path);
    g_autoptr(GDir) dir = g_dir_open(full, 0, NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    const char *name;

    while ((name = g_dir_read_name(dir)))
        g_ptr_array_add(names, g_strdup(name));
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *child =
            path[0] ? g_strdup_printf("%s/%s", path,
                                      (char *)g_ptr_array_index(names, i))
                    : g_strdup(g_ptr_array_index(names, i));
        struct stat st;

        DO(stat, child, &st);
        if (S_ISDIR(st.st_mode)) {
            remove_tree(w, child);
            DO(rmdir, child);
        } else {
            DO(unlink, child);
        }
    }
}

static void ui05_change(struct world *w)
{
    remove_tree(w, "");
}

/* ---- UI-06 .. UI-08, renames ----------------------------------------------- */

static void ui06_change(struct world *w)
{
    DO(rename, "small.txt", "src/moved.txt", 0);
}

static void ui06_check(struct world *w, json_t *report)
{
    json_t *change = json_array_get(json_object_get(report, "changes"), 0);

    g_assert_cmpstr(json_string_value(json_object_get(change, "change")), ==,
                    "renamed");
    g_assert_cmpstr(json_string_value(json_object_get(change, "from")), ==,
                    "small.txt");
    world_assert_affected(report, "small.txt", "src/moved.txt", NULL);
}

static void ui07_change(struct world *w)
{
    DO(rename, "small.txt", "large.bin", 0);
}

static void ui07_check(struct world *w, json_t *report)
{
    g_autofree char *text = world_read(w, "large.bin");

    g_assert_cmpstr(text, ==, "hello world");
    world_assert_affected(report, "small.txt", "large.bin", NULL);
}

static void ui08_change(struct world *w)
{
    DO(rename, "src", "lib", 0);
}

static void ui08_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "src", "lib", NULL);
}

static void rename_dir_then_inside(struct world *w)
{
    DO(rename, "src", "lib", 0);
    WRITE("lib/main.c", "changed after the move");
    DO(rename, "lib/components", "parts", 0);
    CREATE("parts/new.c", "new");
    DO(unlink, "parts/app.c");
    DO(mkdir, "src", 0755);
    CREATE("src/main.c", "another main");
}

static void rename_swap(struct world *w)
{
    DO(rename, "small.txt", "large.bin", RENAME_EXCHANGE);
    DO(rename, "src", "empty-dir", RENAME_EXCHANGE);
}

static void rename_chain(struct world *w)
{
    DO(rename, "small.txt", "t1", 0);
    DO(rename, "large.bin", "small.txt", 0);
    DO(rename, "t1", "large.bin", 0);
    DO(rename, "run.sh", "empty.txt", 0);
    DO(rename, "empty.txt", "run.sh", 0);
}

static void rename_dir_over_dir(struct world *w)
{
    DO(rename, "src", "empty-dir", 0);
    DO(mkdir, "src", 0700);
}

static void rename_into_new_dir(struct world *w)
{
    DO(mkdir, "n1", 0755);
    DO(mkdir, "n1/n2", 0755);
    DO(rename, "src", "n1/n2/src", 0);
    DO(rename, "small.txt", "n1/s", 0);
    DO(rename, "n1/n2/src/components", "n1/c", 0);
    WRITE("n1/c/app.c", "x");
    DO(unlink, "n1/s");
    CREATE("n1/n2/junk", "junk");
}

static void rename_in_place_of_parent(struct world *w)
{
    /* the child takes the name that its parent had */
    DO(rename, "src", "old", 0);
    DO(rename, "old/components", "src", 0);
    DO(rename, "old", "src/old", 0);
}

static void rename_errors(struct world *w)
{
    g_assert_cmpint(w->backend->rename(w, "small.txt", "run.sh",
                                       RENAME_NOREPLACE),
                    ==, -EEXIST);
    g_assert_cmpint(w->backend->rename(w, "empty-dir", "src", 0), ==,
                    -ENOTEMPTY);
    g_assert_cmpint(w->backend->rename(w, "small.txt", "src", 0), ==, -EISDIR);
    g_assert_cmpint(w->backend->rename(w, "src", "small.txt", 0), ==, -ENOTDIR);
    g_assert_cmpint(w->backend->rename(w, "src", "src/components/x", 0), ==,
                    -EINVAL);
    g_assert_cmpint(w->backend->rename(w, "none", "x", 0), ==, -ENOENT);
    g_assert_cmpint(w->backend->rmdir(w, "src"), ==, -ENOTEMPTY);
    g_assert_cmpint(w->backend->rmdir(w, "small.txt"), ==, -ENOTDIR);
    g_assert_cmpint(w->backend->unlink(w, "src"), ==, -EISDIR);
    g_assert_cmpint(w->backend->mkdir(w, "src", 0755), ==, -EEXIST);
    WRITE("small.txt", "so that there is a step");
}

/* ---- UI-09 .. UI-15, inodes ------------------------------------------------ */

static void ui09_change(struct world *w)
{
    OK(put(w, "large.bin", O_TRUNC, "short"));
}

static void ui10_change(struct world *w)
{
    DO(truncate, "large.bin", 10);
    DO(truncate, "small.txt", 100000);
}

static void modified_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "large.bin", "small.txt", NULL);
}

static void ui11_change(struct world *w)
{
    DO(chmod, "run.sh", 0644);
    DO(chmod, "src", 01700);
}

static void ui11_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "run.sh", "src", NULL);
}

static void fill_xattr(struct world *w)
{
    g_autofree char *path = world_host_path(w, "small.txt");

    fill_small(w);
    OK(setxattr(path, "user.kept", "was here", 8, 0));
}

static void ui12_change(struct world *w)
{
    DO(setxattr, "small.txt", "user.test", "value", 5);
    DO(setxattr, "src", "user.dir", "bytes\0\xff", 7);
}

static void ui13_change(struct world *w)
{
    DO(removexattr, "small.txt", "user.kept");
}

static void ui14_change(struct world *w)
{
    DO(fallocate, "small.txt", 0, 0, 1 << 20);
    DO(fallocate, "large.bin", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
       65536, 131072);
}

static void ui15_change(struct world *w)
{
    DO(copy_range, "large.bin", "small.txt", 1000, 3, 50000);
}

static void touch(struct world *w)
{
    struct timespec times[2] = { { 1, 2 }, { 1000000000, 123456789 } };

    DO(utimes, "small.txt", times);
    DO(utimes, "src", times);
}

static void change_owner(struct world *w)
{
    bool root = geteuid() == 0;

    DO(chown, "doomed", root ? 1234 : geteuid(), root ? 4321 : getegid());
    DO(chown, "src", root ? 1234 : geteuid(), root ? 4321 : getegid());
    DO(chmod, "src", 0711);
}

static void suid_cleared_by_write(struct world *w)
{
    WRITE("doomed", "new");
    DO(chmod, "doomed", 0600);
}

/* ---- UI-23, UI-24, links and nodes ----------------------------------------- */

static void fill_links(struct world *w)
{
    g_autofree char *from = NULL, *to = NULL, *third = NULL;

    fill_small(w);
    from = world_host_path(w, "small.txt");
    to = world_host_path(w, "src/hard");
    third = world_host_path(w, "third");
    OK(link(from, to));
    OK(link(from, third));
    g_free(to);
    to = world_host_path(w, "soft");
    OK(symlink("src/main.c", to));
    g_free(to);
    to = world_host_path(w, "dangling");
    OK(symlink("/no/such/\xff place", to));
}

static void hardlink_write(struct world *w)
{
    DO(link, "run.sh", "run2.sh");
    WRITE("run2.sh", "written through the new name");
}

static void hardlink_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "run.sh", "run2.sh", NULL);
}

static void hardlink_remove_one(struct world *w)
{
    struct stat st;

    DO(unlink, "src/hard");
    DO(stat, "small.txt", &st);
    g_assert_cmpint(st.st_nlink, ==, 2);
    WRITE("third", "after");
}

static void hardlink_remove_all(struct world *w)
{
    DO(unlink, "src/hard");
    DO(unlink, "third");
    DO(unlink, "small.txt");
    CREATE("third", "another");
}

static void hardlink_rename_over(struct world *w)
{
    DO(rename, "run.sh", "third", 0);
    DO(rename, "src/hard", "small.txt", 0); /* two names of one: nothing */
    DO(link, "small.txt", "fourth");
    DO(unlink, "small.txt");
}

static void hardlink_to_new_dir(struct world *w)
{
    DO(mkdir, "n", 0755);
    DO(link, "run.sh", "n/run");
    DO(unlink, "run.sh");
    WRITE("n/run", "changed under the only name left");
    DO(link, "third", "n/third");
}

static void symlink_change(struct world *w)
{
    DO(unlink, "soft");
    DO(symlink, "elsewhere", "soft");
    DO(symlink, "small.txt", "new-link");
    DO(rename, "dangling", "src/dangling", 0);
}

static void fill_nodes(struct world *w)
{
    g_autofree char *fifo = NULL;

    fill_small(w);
    fifo = world_host_path(w, "fifo");
    OK(mkfifo(fifo, 0640));
}

static void nodes_change(struct world *w)
{
    DO(unlink, "fifo");
    DO(mknod, "fifo2", S_IFIFO | 0600, 0);
    DO(mknod, "sock", S_IFSOCK | 0600, 0);
}

static void odd_names(struct world *w)
{
    CREATE("caf\xe9", "latin-1");
    DO(rename, "small.txt", "new\nline\t\"quoted\"\\", 0);
    DO(mkdir, "\xff\xfe", 0755);
    DO(rename, "src", "\xff\xfe/src", 0);
    DO(unlink, "\xff\xfe/src/main.c");
}

static void odd_names_check(struct world *w, json_t *report)
{
    g_assert_cmpuint(json_integer_value(json_object_get(report, "affected")),
                     ==, 5);
}

static void fill_odd(struct world *w)
{
    fill_small(w);
    world_host_file(w, "h\xc3\xa9 \xff", "odd");
    world_host_dir(w, "\xfe/deep");
    world_host_file(w, "\xfe/deep/\xfd", "odder");
}

static void odd_removed(struct world *w)
{
    DO(unlink, "h\xc3\xa9 \xff");
    DO(unlink, "\xfe/deep/\xfd");
    DO(rmdir, "\xfe/deep");
    DO(rename, "\xfe", "plain", 0);
}

static void fill_sparse(struct world *w)
{
    g_autofree char *path = NULL;
    int fd;

    fill_small(w);
    path = world_host_path(w, "sparse");
    fd = open(path, O_RDWR | O_CREAT, 0644);
    OK(ftruncate(fd, 64 << 20));
    g_assert_cmpint(pwrite(fd, "middle", 6, 32 << 20), ==, 6);
    close(fd);
}

static void sparse_change(struct world *w)
{
    OK(w->backend->put(w, "sparse", 0, "data", 4, 1 << 20));
    DO(truncate, "sparse", 33 << 20);
}

static void open_handles(struct world *w)
{
    void *doomed = w->backend->open(w, "small.txt", O_RDWR);
    void *moved = w->backend->open(w, "src/main.c", O_RDWR);
    struct stat st;

    DO(unlink, "small.txt");
    OK(w->backend->handle_stat(w, doomed, &st));
    g_assert_cmpint(st.st_nlink, ==, 0);
    OK(w->backend->write(w, doomed, "written after unlink", 20, 0));
    DO(rename, "src", "lib", 0);
    OK(w->backend->write(w, moved, "written after move", 18, 0));
    w->backend->close(w, doomed);
    w->backend->close(w, moved);
}

static void created_and_gone(struct world *w)
{
    CREATE("temporary", "x");
    DO(mkdir, "tmpdir", 0755);
    CREATE("tmpdir/x", "y");
    DO(unlink, "temporary");
    DO(unlink, "tmpdir/x");
    DO(rmdir, "tmpdir");
    DO(unlink, "small.txt");
    CREATE("small.txt", "made anew");
}

static void created_and_gone_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "small.txt", NULL);
}

static void everything(struct world *w)
{
    rename_dir_then_inside(w);
    hardlink_write(w);
    ui09_change(w);
    /* Only root may give a directory another parent that it may not write. */
    DO(chmod, "lib", geteuid() == 0 ? 0500 : 0700);
    DO(rename, "lib", "empty-dir/lib", 0);
    DO(unlink, "run.sh");
    DO(rename, "run2.sh", "small.txt", 0);
}

static const struct undo_case undo_cases[] = {
    { "UI-01/first-touch", fill_small, ui01_change, ui01_check },
    { "UI-02/create", fill_small, ui02_change, ui02_check },
    { "UI-03/create-dirs", fill_small, ui03_change, ui03_check },
    { "UI-04/delete", ui04_fill, ui04_change, ui04_check },
    { "UI-05/delete-tree", fill_links, ui05_change, NULL },
    { "UI-06/rename-new", fill_small, ui06_change, ui06_check },
    { "UI-07/rename-over", fill_small, ui07_change, ui07_check },
    { "UI-08/rename-dir", fill_small, ui08_change, ui08_check },
    { "UI-08/rename-dir-then-inside", fill_small, rename_dir_then_inside },
    { "UI-08/swap", fill_small, rename_swap },
    { "UI-08/chain", fill_small, rename_chain },
    { "UI-08/dir-over-dir", fill_small, rename_dir_over_dir },
    { "UI-08/into-new-dir", fill_small, rename_into_new_dir },
    { "UI-08/child-takes-parents-name", fill_small, rename_in_place_of_parent },
    { "UI-08/errors", fill_small, rename_errors },
    { "UI-09/open-truncate", fill_small, ui09_change },
    { "UI-10/truncate", fill_small, ui10_change, modified_check },
    { "UI-11/chmod", fill_small, ui11_change, ui11_check },
    { "UI-12/setxattr", fill_small, ui12_change },
    { "UI-13/removexattr", fill_xattr, ui13_change },
    { "UI-14/fallocate", fill_small, ui14_change, modified_check },
    { "UI-15/copy-file-range", fill_small, ui15_change },
    { "UI-15/utimes", fill_small, touch },
    { "UI-15/chown", ui04_fill, change_owner },
    { "UI-15/suid", ui04_fill, suid_cleared_by_write },
    { "UI-23/write-through-new-link", fill_small, hardlink_write,
      hardlink_check },
    { "UI-23/remove-one", fill_links, hardlink_remove_one },
    { "UI-23/remove-all", fill_links, hardlink_remove_all },
    { "UI-23/rename-over", fill_links, hardlink_rename_over },
    { "UI-23/to-new-dir", fill_links, hardlink_to_new_dir },
    { "UI-24/symlinks", fill_links, symlink_change },
    { "UI-24/nodes", fill_nodes, nodes_change },
    { "names/odd", fill_small, odd_names, odd_names_check },
    { "names/odd-removed", fill_odd, odd_removed },
    { "sparse", fill_sparse, sparse_change },
    { "open-handles", fill_small, open_handles },
    { "created-and-gone", fill_small, created_and_gone,
      created_and_gone_check },
    { "everything", fill_small, everything },
};

struct bound_case {
    const struct undo_case *test;
    const struct world_backend *backend;
};

static void run_undo_case(gconstpointer data)
{
    const struct bound_case *bound = data;
    struct world *w = world_new(bound->backend);
    g_autoptr(GPtrArray) before = NULL;
    json_t *report;
    int64_t id;

    bound->test->fill(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        id = world_step(w);
        bound->test->change(w);
        report = world_close_step(w, id);
        world_assert_changed(w, before);
        g_assert_true(json_is_true(json_object_get(report, "undoable")));
        if (bound->test->check)
            bound->test->check(w, report);
        json_decref(report);
        g_assert_cmpuint(world_history_count(w), ==, 1);
        json_decref(world_undo(w, 1));
        world_assert_equal(w, before);
        g_assert_cmpuint(world_history_count(w), ==, 0);
    }
    world_free(w);
}

/* The same changes, but the process dies in the step and the next start takes
 * it back (CR-01). */
static void run_crash_case(gconstpointer data)
{
    const struct bound_case *bound = data;
    struct world *w = world_new(bound->backend);
    g_autoptr(GPtrArray) before = NULL;

    bound->test->fill(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        bound->test->change(w);
        bound->backend->kill(w);
        world_assert_changed(w, before);
        g_assert_true(world_start(w));
        g_assert_nonnull(w->recovery);
        world_assert_equal(w, before);
        g_assert_cmpuint(world_history_count(w), ==, 0);
    }
    world_free(w);
}

/* ---- several steps --------------------------------------------------------- */

static void ui16(gconstpointer data)
{
    struct world *w = world_new(data);
    g_autoptr(GPtrArray) zero = NULL, one = NULL, two = NULL;
    int64_t id;

    fill_links(w);
    if (!world_start(w)) {
        world_free(w);
        return;
    }
    zero = world_snapshot(w);
    id = world_step(w);
    WRITE("small.txt", "after one");
    DO(unlink, "run.sh");
    DO(rename, "src", "lib", 0);
    json_decref(world_close_step(w, id));
    one = world_snapshot(w);
    id = world_step(w);
    WRITE("small.txt", "after two");
    CREATE("run.sh", "another");
    DO(unlink, "third");
    DO(unlink, "lib/main.c");
    DO(rename, "lib", "src", 0);
    json_decref(world_close_step(w, id));
    two = world_snapshot(w);
    id = world_step(w);
    remove_tree(w, "");
    json_decref(world_close_step(w, id));
    g_assert_cmpuint(world_history_count(w), ==, 3);

    json_decref(world_undo(w, 1));
    world_assert_equal(w, two);
    json_decref(world_undo(w, 1));
    world_assert_equal(w, one);
    json_decref(world_undo(w, 1));
    world_assert_equal(w, zero);
    world_free(w);
}

/* Several at once, over a restart of the process in between. */
static void ui16_restart(gconstpointer data)
{
    struct world *w = world_new(data);
    g_autoptr(GPtrArray) zero = NULL;
    int64_t id;

    fill_links(w);
    if (!world_start(w)) {
        world_free(w);
        return;
    }
    zero = world_snapshot(w);
    id = world_step(w);
    rename_into_new_dir(w);
    json_decref(world_close_step(w, id));
    id = world_step(w);
    DO(unlink, "third");
    json_decref(world_close_step(w, id));
    w->backend->stop(w);
    g_assert_true(world_start(w));
    g_assert_null(w->recovery);
    id = world_step(w);
    remove_tree(w, "");
    json_decref(world_close_step(w, id));
    json_decref(world_undo(w, 3));
    world_assert_equal(w, zero);
    world_free(w);
}

static void ui20(gconstpointer data)
{
    struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;
    json_t *answer, *step;

    fill_small(w);
    if (!world_start(w)) {
        world_free(w);
        return;
    }
    before = world_snapshot(w);
    WRITE("small.txt", "outside of any step");
    DO(unlink, "run.sh");
    answer = world_undo(w, 1);
    step = json_array_get(json_object_get(answer, "steps"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(step, "type")), ==,
                    "ambient");
    g_assert_cmpint(json_integer_value(json_object_get(step, "step_id")), <, 0);
    json_decref(answer);
    world_assert_equal(w, before);
    world_free(w);
}

static void ui21(gconstpointer data)
{
    struct world *w = world_new(data);
    g_autoptr(GPtrArray) one = NULL;
    int64_t id;

    w->ambient_ms = 200;
    fill_small(w);
    if (!world_start(w) || data == &world_mount) {
        world_free(w);
        return;
    }
    WRITE("small.txt", "first");
    for (int i = 0; i < 500 && world_history_count(w) < 1; i++)
        g_usleep(10000);
    g_assert_cmpuint(world_history_count(w), ==, 1);
    one = world_snapshot(w);
    WRITE("small.txt", "second, another ambient step");
    id = world_step(w); /* opening a step closes it */
    g_assert_cmpuint(world_history_count(w), ==, 2);
    json_decref(world_close_step(w, id));
    json_decref(world_undo(w, 1));
    world_assert_equal(w, one);
    world_free(w);
}

static void ui22(gconstpointer data)
{
    struct world *a = world_new(data), *b = world_new(data);
    g_autoptr(GPtrArray) before = NULL, other = NULL;
    struct world *w = a;
    int64_t id;

    fill_small(a);
    fill_small(b);
    if (world_start(a) && world_start(b)) {
        before = world_snapshot(a);
        id = world_step(a);
        WRITE("small.txt", "in a");
        json_decref(world_close_step(a, id));
        id = world_step(b);
        w = b;
        WRITE("small.txt", "in b");
        json_decref(world_close_step(b, id));
        other = world_snapshot(b);
        json_decref(world_undo(a, 1));
        world_assert_equal(a, before);
        world_assert_equal(b, other);
    }
    world_free(a);
    world_free(b);
}

/* A write through a handle to a file that an earlier step removed. */
static void old_handle(gconstpointer data)
{
    struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;
    void *handle;
    int64_t id;

    fill_small(w);
    if (!world_start(w)) {
        world_free(w);
        return;
    }
    before = world_snapshot(w);
    handle = w->backend->open(w, "small.txt", O_RDWR);
    id = world_step(w);
    DO(unlink, "small.txt");
    json_decref(world_close_step(w, id));
    id = world_step(w);
    OK(w->backend->write(w, handle, "into the void", 13, 0));
    json_decref(world_close_step(w, id));
    w->backend->close(w, handle);
    json_decref(world_undo(w, world_history_count(w)));
    world_assert_equal(w, before);
    world_free(w);
}

static void errors(gconstpointer data)
{
    struct world *w = world_new(data);
    g_autoptr(GError) error = NULL;
    int64_t id;

    fill_small(w);
    if (!world_start(w)) {
        world_free(w);
        return;
    }
    g_assert_null(w->backend->request(w, "rollback", NULL, &error));
    g_assert_cmpint(error->code, ==, 3000);
    g_clear_error(&error);
    id = world_step(w);
    g_assert_null(w->backend->request(w, "rollback", NULL, &error));
    g_assert_cmpint(error->code, ==, 3006);
    g_clear_error(&error);
    g_assert_null(w->backend->request(
        w, "step.open", json_pack("{s:i}", "step_id", 99), &error));
    g_assert_cmpint(error->code, ==, 3006);
    g_clear_error(&error);
    json_decref(world_close_step(w, id));
    g_assert_null(w->backend->request(
        w, "step.open", json_pack("{s:I}", "step_id", (json_int_t)id), &error));
    g_assert_cmpint(error->code, ==, 1004);
    g_clear_error(&error);
    g_assert_null(w->backend->request(w, "step.open", NULL, &error));
    g_assert_cmpint(error->code, ==, 1003);
    g_clear_error(&error);
    g_assert_null(w->backend->request(w, "make.coffee", NULL, &error));
    g_assert_cmpint(error->code, ==, 1002);
    world_free(w);
}

/* ---- crashes --------------------------------------------------------------- */

static bool wal_exists(struct world *w)
{
    g_autofree char *path =
        g_build_filename(w->undo_dir, "wal", "in_progress", NULL);

    return access(path, F_OK) == 0;
}

static void cr05(gconstpointer data)
{
    struct world *w = world_new(data);
    g_autofree char *step = NULL;
    int64_t id;

    fill_small(w);
    if (world_start(w)) {
        id = world_step(w);
        WRITE("small.txt", "x");
        json_decref(world_close_step(w, id));
        w->backend->stop(w);
        g_assert_false(wal_exists(w));
        step = g_build_filename(w->undo_dir, "steps", "1", NULL);
        g_assert_cmpint(access(step, F_OK), ==, 0);
    }
    world_free(w);
}

static void cr06(gconstpointer data)
{
    struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;

    fill_links(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        hardlink_remove_one(w);
        rename_into_new_dir(w);
        w->backend->kill(w);
        g_assert_true(world_start(w));
        g_assert_nonnull(w->recovery);
        world_assert_equal(w, before);
        w->backend->stop(w);
        g_assert_true(world_start(w));
        g_assert_null(w->recovery);
        world_assert_equal(w, before);
    }
    world_free(w);
}

static void cr07(gconstpointer data)
{
    struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;

    fill_small(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        g_assert_true(wal_exists(w));
        w->backend->kill(w);
        g_assert_true(world_start(w));
        g_assert_false(wal_exists(w));
        world_assert_equal(w, before);
    }
    world_free(w);
}

static void empty_step(gconstpointer data)
{
    struct world *w = world_new(data);
    json_t *report;
    int64_t id;

    fill_small(w);
    if (world_start(w)) {
        id = world_step(w);
        report = world_close_step(w, id);
        g_assert_true(json_is_false(json_object_get(report, "undoable")));
        json_decref(report);
        g_assert_cmpuint(world_history_count(w), ==, 0);
        g_assert_false(wal_exists(w));
        id = world_step(w); /* and its id is not used again */
        json_decref(world_close_step(w, id));
    }
    world_free(w);
}

static const struct {
    const char *id;
    void (*run)(gconstpointer backend);
} long_cases[] = {
    { "UI-16/multi-step", ui16 },       { "UI-16/restart", ui16_restart },
    { "UI-20/ambient", ui20 },          { "UI-21/ambient-timeout", ui21 },
    { "UI-22/multi-dir", ui22 },        { "old-handle", old_handle },
    { "errors", errors },               { "CR-05/clean-shutdown", cr05 },
    { "CR-06/double-recovery", cr06 },  { "CR-07/empty-step", cr07 },
    { "empty-step", empty_step },
};

static void add_case(const char *backend, const char *group, const char *id,
                     gconstpointer data, GTestDataFunc run)
{
    g_autofree char *path = g_strdup_printf("/%s%s/%s", backend, group, id);

    g_test_add_data_func(path, data, run);
}

static void add_backend(const struct world_backend *backend)
{
    for (size_t i = 0; i < G_N_ELEMENTS(undo_cases); i++) {
        struct bound_case *bound = g_new(struct bound_case, 1);

        *bound = (struct bound_case){ &undo_cases[i], backend };
        add_case(backend->name, "", undo_cases[i].id, bound, run_undo_case);
        add_case(backend->name, "/CR-01", undo_cases[i].id, bound,
                 run_crash_case);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(long_cases); i++)
        add_case(backend->name, "", long_cases[i].id, backend,
                 long_cases[i].run);
}

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    add_backend(&world_folder);
    add_backend(&world_folder_copy);
    add_backend(&world_mount);
    return g_test_run();
}
