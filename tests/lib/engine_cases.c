/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_cases - see engine_cases.h.
 */
#include "tests/lib/engine_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/log/pack.h"

/* ---- UI-01 .. UI-05 ------------------------------------------------------ */

static void ui01_change(struct world *w)
{
    WRITE("small.txt", "first");
    WRITE("small.txt", "second change");
    OK(w->backend->put(w, "small.txt", O_APPEND, "third", 5, 0));
}

static int count_entry(const struct pack_entry *entry, void *opaque)
{
    int *count = opaque;

    (*count)++;
    return 0;
}

static void ui01_check(struct world *w, json_t *report)
{
    g_autofree char *path = g_strdup_printf("%s/steps/1/blobs", w->undo_dir);
    fd_auto int blobs = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int count = 0;

    OK(pack_read(blobs, true, count_entry, &count));
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
    engine_fill_small(w);
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
    const char *change;
    json_int_t size;
    struct stat st;

    g_assert_cmpint(w->backend->stat(w, "doomed", &st), ==, -ENOENT);
    world_assert_affected(report, "doomed", NULL);
    OK(json_unpack(report, "{s:[{s:s, s:I}]}", "changes", "change", &change,
                   "size_before", &size));
    g_assert_cmpstr(change, ==, "deleted");
    g_assert_cmpint(size, ==, strlen("rich file"));
}

static void ui05_change(struct world *w)
{
    engine_remove_tree(w, "");
}

/* ---- UI-06 .. UI-08, renames --------------------------------------------- */

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

static void rename_in_place_of_parent(struct world *w)
{
    /* the child takes its parent's former name */
    DO(rename, "src", "old", 0);
    DO(rename, "old/components", "src", 0);
    DO(rename, "old", "src/old", 0);
}

static void rename_errors(struct world *w)
{
    g_assert_cmpint(
        w->backend->rename(w, "small.txt", "run.sh", RENAME_NOREPLACE), ==,
        -EEXIST);
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

/* ---- UI-09 .. UI-15, inodes ---------------------------------------------- */

static void ui09_change(struct world *w)
{
    OK(engine_put(w, "large.bin", O_TRUNC, "short"));
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

    engine_fill_small(w);
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

/* ---- UI-23, UI-24, links and nodes --------------------------------------- */

static void hardlink_write(struct world *w)
{
    DO(link, "run.sh", "run2.sh");
    WRITE("run2.sh", "written through the new name");
}

static void hardlink_check(struct world *w, json_t *report)
{
    world_assert_affected(report, "run.sh", "run2.sh", NULL);
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
    DO(rename, "src/hard", "small.txt", 0); /* both name one file: no effect */
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

    engine_fill_small(w);
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
    engine_fill_small(w);
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

    engine_fill_small(w);
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
    /* Only root may move a directory that is not writable to another parent. */
    DO(chmod, "lib", geteuid() == 0 ? 0500 : 0700);
    DO(rename, "lib", "empty-dir/lib", 0);
    DO(unlink, "run.sh");
    DO(rename, "run2.sh", "small.txt", 0);
}

const struct undo_case engine_cases[] = {
    { "UI-01/first-touch", engine_fill_small, ui01_change, ui01_check },
    { "UI-02/create", engine_fill_small, ui02_change, ui02_check },
    { "UI-03/create-dirs", engine_fill_small, ui03_change, ui03_check },
    { "UI-04/delete", ui04_fill, ui04_change, ui04_check },
    { "UI-05/delete-tree", engine_fill_links, ui05_change, NULL },
    { "UI-06/rename-new", engine_fill_small, ui06_change, ui06_check },
    { "UI-07/rename-over", engine_fill_small, ui07_change, ui07_check },
    { "UI-08/rename-dir", engine_fill_small, ui08_change, ui08_check },
    { "UI-08/rename-dir-then-inside", engine_fill_small,
      rename_dir_then_inside },
    { "UI-08/swap", engine_fill_small, rename_swap },
    { "UI-08/chain", engine_fill_small, rename_chain },
    { "UI-08/dir-over-dir", engine_fill_small, rename_dir_over_dir },
    { "UI-08/into-new-dir", engine_fill_small, engine_rename_into_new_dir },
    { "UI-08/child-takes-parents-name", engine_fill_small,
      rename_in_place_of_parent },
    { "UI-08/errors", engine_fill_small, rename_errors },
    { "UI-09/open-truncate", engine_fill_small, ui09_change },
    { "UI-10/truncate", engine_fill_small, ui10_change, modified_check },
    { "UI-11/chmod", engine_fill_small, ui11_change, ui11_check },
    { "UI-12/setxattr", engine_fill_small, ui12_change },
    { "UI-13/removexattr", fill_xattr, ui13_change },
    { "UI-14/fallocate", engine_fill_small, ui14_change, modified_check },
    { "UI-15/copy-file-range", engine_fill_small, ui15_change },
    { "UI-15/utimes", engine_fill_small, touch },
    { "UI-15/chown", ui04_fill, change_owner },
    { "UI-15/suid", ui04_fill, suid_cleared_by_write },
    { "UI-23/write-through-new-link", engine_fill_small, hardlink_write,
      hardlink_check },
    { "UI-23/remove-one", engine_fill_links, engine_hardlink_remove_one },
    { "UI-23/remove-all", engine_fill_links, hardlink_remove_all },
    { "UI-23/rename-over", engine_fill_links, hardlink_rename_over },
    { "UI-23/to-new-dir", engine_fill_links, hardlink_to_new_dir },
    { "UI-24/symlinks", engine_fill_links, symlink_change },
    { "UI-24/nodes", fill_nodes, nodes_change },
    { "names/odd", engine_fill_small, odd_names, odd_names_check },
    { "names/odd-removed", fill_odd, odd_removed },
    { "sparse", fill_sparse, sparse_change },
    { "open-handles", engine_fill_small, open_handles },
    { "created-and-gone", engine_fill_small, created_and_gone,
      created_and_gone_check },
    { "everything", engine_fill_small, everything },
};

const size_t engine_cases_count = G_N_ELEMENTS(engine_cases);
