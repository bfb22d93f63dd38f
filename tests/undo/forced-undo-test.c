/* SPDX-License-Identifier: Apache-2.0
 *
 * forced-undo-test - a forced undo restores each path of the step.
 *
 * It loses nothing that another process put there.
 *
 * Each case is one change by the step, one edit of the same path by another
 * process, and a file that the log keeps completely ("small") or in part
 * ("large"). For each of them:
 *
 *     undo is refused, and changes nothing;
 *     a forced undo makes each path of the step what it was before it;
 *     redo restores the tree as it was before the forced undo.
 *
 * If the content is gone with the inode that another process removed, a forced
 * undo leaves the path as it is and reports it, there is no redo, and what the
 * log has of the content is in damaged/.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/edits.h"
#include "tests/lib/oracle.h"

enum { LARGE = 300000, PART = 150000 };

enum edit_kind {
    REPLACED, /* by rename(2), as editors save */
    REMOVED,
    EDITED,    /* in place, appended to */
    REWRITTEN, /* in place, truncated first */
    RENAMED,
    FOLDER, /* removed, and a folder made in its place */
    EDITS,
};

static const char *const edit_names[] = { "replaced",  "removed", "edited",
                                          "rewritten", "renamed", "folder" };

struct change {
    const char *name;
    void (*make)(struct edits *f);
    const char *result;            /* the path that another process edits */
    const char *paths[3];          /* that the step changed */
    bool keeps_small, keeps_large; /* the log has all of the content */
};

/* ---- changes by the step ------------------------------------------------- */

static void put(struct edits *f, const char *path, int flags, const char *text,
                off_t offset)
{
    g_assert_cmpint(
        f->w->backend->put(f->w, path, flags, text, strlen(text), offset), ==,
        0);
}

static void overwrite(struct edits *f)
{
    put(f, "file", O_TRUNC, "by the step", 0);
}

static void write_part(struct edits *f)
{
    put(f, "file", 0, "S", 1);
}

static void truncate_it(struct edits *f)
{
    g_assert_cmpint(f->w->backend->truncate(f->w, "file", 0), ==, 0);
}

static void append(struct edits *f)
{
    struct stat st;

    g_assert_cmpint(f->w->backend->stat(f->w, "file", &st), ==, 0);
    put(f, "file", 0, "by the step", st.st_size);
}

static void replace_it(struct edits *f)
{
    put(f, "file.new", O_CREAT, "by the step", 0);
    g_assert_cmpint(f->w->backend->rename(f->w, "file.new", "file", 0), ==, 0);
}

static void remove_it(struct edits *f)
{
    g_assert_cmpint(f->w->backend->unlink(f->w, "file"), ==, 0);
}

static void rename_it(struct edits *f)
{
    g_assert_cmpint(f->w->backend->rename(f->w, "file", "moved", 0), ==, 0);
}

static void link_it(struct edits *f)
{
    g_assert_cmpint(f->w->backend->link(f->w, "file", "extra"), ==, 0);
}

static void change_mode(struct edits *f)
{
    g_assert_cmpint(f->w->backend->chmod(f->w, "file", 0600), ==, 0);
}

static void create(struct edits *f)
{
    put(f, "new", O_CREAT, "by the step", 0);
}

static const struct change changes[] = {
    { "overwrite", overwrite, "file", { "file" }, true, true },
    { "write-part", write_part, "file", { "file" }, true, false },
    { "truncate", truncate_it, "file", { "file" }, true, true },
    { "append", append, "file", { "file" }, true, false },
    { "replace", replace_it, "file", { "file" }, true, true },
    { "remove", remove_it, "file", { "file" }, true, true },
    { "rename", rename_it, "moved", { "file", "moved" }, false, false },
    { "link", link_it, "extra", { "extra" }, true, true },
    { "chmod", change_mode, "file", { "file" }, false, false },
    { "create", create, "new", { "new" }, true, true },
};

/* ---- edits by another process -------------------------------------------- */

static bool exists(struct edits *f, const char *path)
{
    g_autofree char *full = world_host_path(f->w, path);
    struct stat st;

    return lstat(full, &st) == 0;
}

static void host_append(struct edits *f, const char *path)
{
    g_autofree char *full = world_host_path(f->w, path);
    int fd = open(full, O_WRONLY | O_APPEND | O_CLOEXEC);

    g_assert_cmpint(write(fd, "theirs", 6), ==, 6);
    close(fd);
}

static void host_folder(struct edits *f, const char *path)
{
    g_autofree char *full = world_host_path(f->w, path);
    g_autofree char *inside = g_build_filename(path, "theirs", NULL);

    if (exists(f, path))
        edits_remove(f, path);
    g_assert_cmpint(mkdir(full, 0751), ==, 0);
    edits_write(f, inside, "theirs");
}

/* Return false if there is nothing to edit in this way. */
static bool edit(struct edits *f, const char *path, enum edit_kind kind)
{
    g_autofree char *full = world_host_path(f->w, path);
    g_autofree char *away = world_host_path(f->w, "away");

    if (!exists(f, path) && kind != REPLACED && kind != FOLDER)
        return false;
    switch (kind) {
    case REPLACED:
        edits_replace(f, path, "theirs");
        break;
    case REMOVED:
        edits_remove(f, path);
        break;
    case EDITED:
        host_append(f, path);
        break;
    case REWRITTEN:
        edits_write(f, path, "theirs");
        break;
    case RENAMED:
        g_assert_cmpint(rename(full, away), ==, 0);
        break;
    default:
        host_folder(f, path);
        break;
    }
    return true;
}

/* ---- comparing ----------------------------------------------------------- */

/* Return the lines of the snapshot for the path and for what is below it. */
static char *lines_of(GPtrArray *snapshot, const char *path)
{
    GString *all = g_string_new(NULL);
    size_t len = strlen(path);

    for (guint i = 0; i < snapshot->len; i++) {
        const char *line = g_ptr_array_index(snapshot, i);

        if (g_str_has_prefix(line, path) &&
            (line[len] == ' ' || line[len] == '/'))
            g_string_append_printf(all, "%s\n", line);
    }
    return g_string_free(all, FALSE);
}

static void assert_same(GPtrArray *wanted, GPtrArray *found, const char *path,
                        const char *when)
{
    g_autofree char *a = lines_of(wanted, path), *b = lines_of(found, path);

    if (strcmp(a, b) == 0)
        return;
    g_test_message("%s, %s should be\n%sbut is\n%s", when, path,
                   *a ? a : "not there\n", *b ? b : "not there\n");
    g_test_fail();
}

static void assert_paths(const struct change *change, GPtrArray *wanted,
                         GPtrArray *found, const char *when)
{
    for (size_t i = 0; i < G_N_ELEMENTS(change->paths); i++) {
        if (change->paths[i])
            assert_same(wanted, found, change->paths[i], when);
    }
}

/* ---- a case -------------------------------------------------------------- */

static void assert_refused(struct edits *f)
{
    g_autoptr(GPtrArray) now = world_snapshot(f->w);

    world_refused(f->w, "rollback", edits_undo_payload(false), 3001);
    world_assert_equal(f->w, now);
}

static bool is_gone(const struct change *change, enum edit_kind kind,
                    bool large)
{
    bool keeps = large ? change->keeps_large : change->keeps_small;

    return !keeps && (kind == REPLACED || kind == REMOVED || kind == FOLDER);
}

/* Another process has changed the file in place, and the log does not have all
 * of its content: the result has parts of both. */
static bool is_mixed(const struct change *change, enum edit_kind kind,
                     bool large)
{
    bool keeps = large ? change->keeps_large : change->keeps_small;

    return !keeps && (kind == EDITED || kind == REWRITTEN);
}

static void undo_and_redo(struct edits *f, const struct change *change,
                          bool mixed, GPtrArray *edited)
{
    json_t *answer = world_request(f->w, "rollback", edits_undo_payload(true));
    g_autoptr(GPtrArray) undone = world_snapshot(f->w);

    json_decref(answer);
    if (!mixed)
        assert_paths(change, f->before, undone, "after the forced undo");
    assert_same(edited, undone, "away", "after the forced undo");
    json_decref(world_request(f->w, "redo", NULL));
    world_assert_equal(f->w, edited);
}

static bool has_aside(struct edits *f, const char *text)
{
    g_autofree char *command = g_strdup_printf(
        "grep -rq '%s' '%s'/damaged/*/blobs/o*", text, f->w->undo_dir);

    return system(command) == 0;
}

/* Assert that the reply lists these paths as not restored. */
static void assert_not_restored(json_t *answer, const char *path)
{
    g_assert_true(
        edits_has_path(json_object_get(answer, "not_restored"), path));
    json_decref(answer);
}

static void undo_without_content(struct edits *f, const struct change *change,
                                 GPtrArray *edited)
{
    g_autoptr(GPtrArray) undone = NULL;
    g_autoptr(GError) error = NULL;
    json_t *answer;

    assert_not_restored(
        world_request(f->w, "preview", edits_undo_payload(true)), "file");
    world_assert_equal(f->w, edited);
    answer = world_request(f->w, "rollback", edits_undo_payload(true));
    undone = world_snapshot(f->w);
    g_assert_true(edits_warns(answer, "file"));
    /* The log has a block of this content. */
    if (strcmp(change->name, "write-part") == 0)
        g_assert_true(has_aside(f, "oooooooo"));
    assert_not_restored(answer, "file");
    assert_same(edited, undone, change->result, "after the forced undo");
    g_assert_null(f->w->backend->request(f->w, "redo", NULL, &error));
}

static void run_case(struct edits *f, const struct change *change,
                     enum edit_kind kind, bool large)
{
    g_autoptr(GPtrArray) edited = NULL;

    world_step(f->w);
    change->make(f);
    world_end_step(f->w);
    if (!edit(f, change->result, kind)) {
        g_test_skip("there is nothing to edit");
        return;
    }
    edited = world_snapshot(f->w);
    assert_refused(f);
    if (is_gone(change, kind, large))
        undo_without_content(f, change, edited);
    else
        undo_and_redo(f, change, is_mixed(change, kind, large), edited);
}

/* ---- table of cases ------------------------------------------------------ */

struct test {
    const struct world_backend *backend;
    const struct change *change;
    enum edit_kind kind;
    bool large;
};

static void run_test(gconstpointer data)
{
    const struct test *test = data;
    struct edits f = { .w = world_new(test->backend) };
    g_autofree char *text = test->large ? g_strnfill(LARGE, 'o')
                                        : g_strdup("old");

    world_host_file(f.w, "file", text);
    world_host_file(f.w, "other", "old");
    if (world_start(f.w)) {
        f.before = world_snapshot(f.w);
        run_case(&f, test->change, test->kind, test->large);
        g_ptr_array_unref(f.before);
    }
    world_free(f.w);
}

static void add(const struct test *common)
{
    struct test *test = g_memdup2(common, sizeof(*common));
    g_autofree char *path = g_strdup_printf(
        "/forced-undo/%s/%s/%s-%s", test->backend->name,
        test->large ? "large" : "small", test->change->name,
        edit_names[test->kind]);

    g_test_add_data_func_full(path, test, run_test, g_free);
}

static void add_all(const struct world_backend *backend)
{
    for (size_t i = 0; i < G_N_ELEMENTS(changes) * EDITS * 2; i++) {
        struct test test = { backend, &changes[i / (EDITS * 2)],
                             (enum edit_kind)(i / 2 % EDITS), i % 2 };

        add(&test);
    }
}

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions(); /* check every cell of the table */
    add_all(&world_folder);
    add_all(&world_folder_copy);
    add_all(&world_mount);
    return g_test_run();
}
