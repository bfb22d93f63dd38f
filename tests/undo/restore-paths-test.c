/* SPDX-License-Identifier: Apache-2.0
 *
 * restore-paths-test - undo by path changes the named paths only.
 *
 * They become what they were before a step.
 *
 * An undo of that restores exactly what was there.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/lib/edits.h"
#include "tests/lib/engine_trees.h"
#include "tests/undo/restore_rig.h"
#include "tests/undo/undo_tests.h"

/* ---- one step, one path -------------------------------------------------- */

static void change_in_place(gconstpointer backend)
{
    struct stat was, is;
    struct restore_rig t;

    if (!restore_rig_begin(&t, backend, restore_rig_change_much))
        return;
    OK(t.w->backend->stat(t.w, "file", &was));
    CHECK("file");
    OK(t.w->backend->stat(t.w, "file", &is));
    g_assert_cmpuint(was.st_ino, ==, is.st_ino);
    restore_rig_end(&t);
}

static void each_path_alone(gconstpointer backend)
{
    struct restore_rig t;

    if (!restore_rig_begin(&t, backend, restore_rig_change_much))
        return;
    CHECK("second");
    CHECK("dir");
    CHECK("dir/sub/deeper/two");
    CHECK("new");
    CHECK("new/inside");
    CHECK("made");
    CHECK("symbolic");
    CHECK("bystander");
    CHECK("odd-\xff\x01");
    CHECK("dir/sub", "made", "file", "new/inside");
    CHECK("dir/sub/one", "dir", "dir/file");
    CHECK("new/inside", "new");
    json_decref(
        restore_rig_restore(&t, PATHS("./file", "new//inside", "dir/./sub/")));
    restore_rig_compare(&t, PATHS("file", "new/inside", "dir/sub"));
    restore_rig_end(&t);
}

/* Missing directories above are made with their former metadata. */
static void missing_folders(gconstpointer backend)
{
    struct stat st, sub;
    struct restore_rig t;

    if (!restore_rig_begin(&t, backend, restore_rig_change_much))
        return;
    json_decref(restore_rig_restore(&t, PATHS("dir/sub/deeper/two")));
    OK(t.w->backend->stat(t.w, "dir/sub/deeper/two", &st));
    OK(t.w->backend->stat(t.w, "dir/sub", &sub));
    g_assert_cmpuint(sub.st_mode, ==, S_IFDIR | 0755);
    g_assert_cmpint(sub.st_mtim.tv_sec, <=, st.st_mtim.tv_sec + 1);
    g_assert_cmpint(t.w->backend->stat(t.w, "dir/sub/one", &st), ==, -ENOENT);
    g_assert_cmpint(t.w->backend->stat(t.w, "dir/file", &st), ==, -ENOENT);
    restore_rig_end(&t);
}

static void change_kinds(struct world *w)
{
    DO(unlink, "file");
    DO(mkdir, "file", 0700);
    CREATE("file/inside", "of a folder now");
    engine_remove_tree(w, "dir");
    DO(rmdir, "dir");
    DO(symlink, "second", "dir");
    DO(rmdir, "empty");
    OK(w->backend->mknod(w, "empty", S_IFIFO | 0640, 0));
    DO(unlink, "symbolic");
    CREATE("symbolic", "a file now");
}

static void other_kinds(gconstpointer backend)
{
    struct restore_rig t;

    if (!restore_rig_begin(&t, backend, change_kinds))
        return;
    CHECK("file");
    CHECK("dir");
    CHECK("empty");
    CHECK("symbolic");
    CHECK("file/inside");
    CHECK("dir", "dir/sub/one", "file", "empty", "symbolic");
    /* Below a directory that is a symlink now. */
    restore_rig_refused(&t, PATHS("dir/sub/one"), ERROR_INVALID_FIELD);
    restore_rig_end(&t);
}

static void change_names(struct world *w)
{
    DO(rename, "file", "file2", 0);
    DO(rename, "dir", "moved", 0);
    WRITE("moved/file", "changed after it was moved");
    CREATE("temporary", "replaces the second");
    DO(rename, "temporary", "second", 0);
}

static void renamed(gconstpointer backend)
{
    struct restore_rig t;

    if (!restore_rig_begin(&t, backend, change_names))
        return;
    CHECK("file");
    CHECK("file2");
    CHECK("file", "file2");
    CHECK("dir");
    CHECK("dir/file");
    CHECK("moved", "dir");
    CHECK("second");
    restore_rig_end(&t);
}

/* ---- links --------------------------------------------------------------- */

static void change_links(struct world *w)
{
    WRITE("linked", "TWO NAMES, changed");
    DO(unlink, "dir/other-link");
    DO(link, "linked", "third-link");
}

static void expect_links(struct restore_rig *t, const char *a, const char *b,
                         bool same)
{
    struct stat first, second;

    OK(t->w->backend->stat(t->w, a, &first));
    OK(t->w->backend->stat(t->w, b, &second));
    g_assert_cmpint(first.st_ino == second.st_ino, ==, same);
}

static void links(gconstpointer backend)
{
    struct restore_rig t;
    json_t *answer;

    if (!restore_rig_begin(&t, backend, change_links))
        return;
    json_decref(restore_rig_restore(&t, PATHS("linked", "dir/other-link")));
    expect_links(&t, "linked", "dir/other-link", true);
    expect_links(&t, "linked", "third-link", true);
    json_decref(world_undo(t.w, 1));
    world_assert_equal(t.w, t.after);
    /* Removed: it comes back as a copy. */
    CHECK("dir/other-link");
    CHECK("third-link");
    /* A file stays one inode, also under names that were not asked for. */
    answer = restore_rig_restore(&t, PATHS("linked"));
    g_assert_true(
        edits_warns(answer, "linked: the file also changes under its other"));
    json_decref(answer);
    expect_links(&t, "linked", "third-link", true);
    json_decref(world_undo(t.w, 1));
    world_assert_equal(t.w, t.after);
    restore_rig_end(&t);
}

static void remove_links(struct world *w)
{
    DO(unlink, "linked");
    DO(unlink, "dir/other-link");
}

static void removed_links(gconstpointer backend)
{
    struct restore_rig t;

    if (!restore_rig_begin(&t, backend, remove_links))
        return;
    json_decref(restore_rig_restore(&t, PATHS("linked", "dir/other-link")));
    expect_links(&t, "linked", "dir/other-link", true);
    restore_rig_compare(&t, PATHS("linked", "dir/other-link"));
    restore_rig_end(&t);
}

/* ---- contents ------------------------------------------------------------ */

static void change_big(struct world *w)
{
    OK(w->backend->put(w, "big", 0, "in the middle", 13,
                       RESTORE_RIG_BIG / 2 + 3));
    OK(w->backend->put(w, "big", 0, "in a hole", 9, 1 << 20));
    OK(w->backend->put(w, "big", O_APPEND, "at the end", 10, 0));
}

static void change_big_more(struct world *w)
{
    OK(w->backend->truncate(w, "big", RESTORE_RIG_BIG / 2 + 1));
    OK(w->backend->put(w, "big", 0, "far", 3, RESTORE_RIG_BIG * 2));
}

static gint64 size_of_step(struct restore_rig *t, int64_t id)
{
    g_autofree char *blobs = g_strdup_printf(
        "%s/steps/%" G_GINT64_FORMAT "/blobs", t->w->undo_dir, id);
    GDir *dir = g_dir_open(blobs, 0, NULL);
    const char *name;
    gint64 size = 0;

    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(blobs, name, NULL);
        struct stat st;

        if (lstat(path, &st) == 0)
            size += st.st_blocks * 512;
    }
    g_dir_close(dir);
    return size;
}

/* Only the blocks that differ are written. */
static void large_file(gconstpointer backend)
{
    struct restore_rig t;
    int64_t id;

    if (!restore_rig_begin(&t, backend, change_big))
        return;
    CHECK("big");
    id = world_step(t.w);
    change_big_more(t.w);
    world_end_step(t.w);
    json_decref(
        world_request(t.w, "restore",
                      json_pack("{s:[s], s:i}", "paths", "big", "down_to", 1)));
    restore_rig_compare(&t, PATHS("big"));
    g_assert_cmpint(size_of_step(&t, id + 1), <, 2 << 20);
    restore_rig_end(&t);
}

static void remove_big(struct world *w)
{
    change_big(w);
    DO(unlink, "big");
}

static void removed_large_file(gconstpointer backend)
{
    struct restore_rig t;

    if (!restore_rig_begin(&t, backend, remove_big))
        return;
    CHECK("big");
    restore_rig_end(&t);
}

/* ---- several steps ------------------------------------------------------- */

static void two_steps(gconstpointer backend)
{
    struct world *w;
    struct restore_rig t;
    int64_t id;

    if (!restore_rig_begin(&t, backend, restore_rig_change_much))
        return;
    w = t.w;
    id = world_step(w);
    WRITE("file", "changed once more");
    CREATE("second", "another second file");
    DO(mkdir, "dir", 0755);
    CREATE("dir/file", "another one");
    world_end_step(w);
    g_ptr_array_unref(t.after);
    t.after = world_snapshot(w);
    json_decref(world_request(w, "restore",
                              json_pack("{s:[s,s,s], s:i}", "paths", "file",
                                        "second", "dir", "steps", 2)));
    restore_rig_compare(&t, PATHS("file", "second", "dir"));
    json_decref(world_undo(w, 1));
    world_assert_equal(w, t.after);
    json_decref(world_request(
        w, "restore",
        json_pack("{s:[s], s:I}", "paths", "file", "down_to", (json_int_t)id)));
    edits_assert_text(&(struct edits){ .w = w }, "file",
                      "CHANGED and longer than it was");
    /* A restore is a step; so the one that it restored from is further back
     * now. */
    json_decref(world_request(
        w, "restore", json_pack("{s:[s], s:i}", "paths", ".", "down_to", 1)));
    world_assert_equal(w, t.before);
    json_decref(world_undo(w, 4));
    world_assert_equal(w, t.before);
    restore_rig_end(&t);
}

static void nothing_differs(gconstpointer backend)
{
    struct restore_rig t;
    json_t *answer;

    if (!restore_rig_begin(&t, backend, restore_rig_change_much))
        return;
    answer = world_request(
        t.w, "restore", restore_rig_payload(PATHS("linked", "empty"), false));
    g_assert_cmpuint(json_array_size(json_object_get(answer, "steps")), ==, 0);
    json_decref(answer);
    g_assert_cmpuint(world_history_count(t.w), ==, 1);
    world_assert_equal(t.w, t.after);
    restore_rig_end(&t);
}

/* ---- */

static const struct world_case cases[] = {
    { "changed-in-place", change_in_place },
    { "each-path-alone", each_path_alone },
    { "missing-folders-above", missing_folders },
    { "type-changes", other_kinds },
    { "renamed-paths", renamed },
    { "links", links },
    { "removed-links", removed_links },
    { "large-file-costs-what-differs", large_file },
    { "removed-large-file", removed_large_file },
    { "two-steps-back", two_steps },
    { "nothing-differs", nothing_differs },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    world_add_cases("", WORLD_WITHOUT_9P, cases, G_N_ELEMENTS(cases));
    add_restore_paths_refused_tests();
    return g_test_run();
}
