/* SPDX-License-Identifier: Apache-2.0
 *
 * forced-undo-folders-test - forced undo in changed directories.
 *
 * Another process has removed, replaced or moved them; also names that were
 * made and removed.
 *
 * Also: what follows it. tests/undo/forced-undo-test has the table of changes
 * and edits of one file.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/edits.h"
#include "tests/lib/oracle.h"
#include "tests/undo/undo_tests.h"

enum { LARGE = 300000 };

static void put(struct edits *f, const char *path, int flags, const char *text,
                off_t offset)
{
    g_assert_cmpint(
        f->w->backend->put(f->w, path, flags, text, strlen(text), offset), ==,
        0);
}

static void assert_not_restored(json_t *answer, const char *path)
{
    g_assert_true(
        edits_has_path(json_object_get(answer, "not_restored"), path));
    json_decref(answer);
}

/* Return whether damaged/ has the part of the content that the log had. */
static bool has_aside(struct edits *f)
{
    g_autofree char *command = g_strdup_printf(
        "grep -rq SSSSSSSS '%s'/damaged/*/blobs/o*", f->w->undo_dir);

    return system(command) == 0;
}

static json_t *force(struct edits *f)
{
    return world_request(f->w, "rollback", edits_undo_payload(true));
}

/* The step made a name and removed it: what another process makes there later
 * is not the step's. */
static void temporary_name_stays(struct edits *f)
{
    world_step(f->w);
    put(f, "temporary", O_CREAT, "by the step", 0);
    put(f, "file", O_TRUNC, "by the step", 0);
    g_assert_cmpint(f->w->backend->unlink(f->w, "temporary"), ==, 0);
    world_end_step(f->w);
    edits_write(f, "temporary", "theirs");
    json_decref(force(f));
    edits_assert_text(f, "temporary", "theirs");
    edits_assert_text(f, "file", "old");
}

/* A file that the step has moved is in the way of another one, and its former
 * directory is gone. */
static void homeless_file_is_kept(struct edits *f)
{
    edits_write(f, "dir/sub/file", "precious");
    world_step(f->w);
    g_assert_cmpint(f->w->backend->rename(f->w, "dir/sub/file", "file", 0), ==,
                    0);
    g_assert_cmpint(f->w->backend->rename(f->w, "dir", "moved", 0), ==, 0);
    world_end_step(f->w);
    edits_shell(f, "rm -r moved");
    json_decref(force(f));
    edits_assert_text(f, "file", "old");
    g_assert_true(edits_is_set_aside(f, "precious"));
}

/* The same for a directory, whose files keep their names. */
static void homeless_folder_keeps_names(struct edits *f)
{
    g_autofree char *find = g_strdup_printf(
        "cd \"$(dirname \"$(find '%s/damaged' -name deep)\")\" && "
        "test \"$(cat name)\" = top && "
        "test \"$(cat deep/name)\" = precious && "
        "test \"$(readlink deep/link)\" = name && test -d deep/empty",
        f->w->undo_dir);
    json_t *answer;

    edits_shell(f, "mkdir -p dir/sub/folder/deep/empty && "
                   "cd dir/sub/folder && printf top > name && "
                   "printf precious > deep/name && ln -s name deep/link");
    world_step(f->w);
    g_assert_cmpint(f->w->backend->rename(f->w, "file", "away", 0), ==, 0);
    g_assert_cmpint(f->w->backend->rename(f->w, "dir/sub/folder", "file", 0),
                    ==, 0);
    g_assert_cmpint(f->w->backend->rename(f->w, "dir", "moved", 0), ==, 0);
    world_end_step(f->w);
    edits_shell(f, "rm -r moved");
    answer = force(f);
    assert_not_restored(answer, "dir");
    edits_assert_text(f, "file", "old");
    g_assert_cmpint(system(find), ==, 0);
}

/* The step has moved a directory, and another process has put a file in its
 * former place. */
static void file_in_place_of_folder_above(struct edits *f)
{
    g_autoptr(GPtrArray) edited = NULL;

    world_step(f->w);
    put(f, "dir/sub/file", O_TRUNC, "by the step", 0);
    g_assert_cmpint(f->w->backend->mkdir(f->w, "new", 0755), ==, 0);
    g_assert_cmpint(f->w->backend->rename(f->w, "dir/sub", "new/sub", 0), ==,
                    0);
    world_end_step(f->w);
    edits_shell(f, "rm new/sub/file; rm -r dir && printf theirs > dir");
    edited = world_snapshot(f->w);
    json_decref(force(f));
    edits_assert_text(f, "dir/sub/file", "old");
    edits_assert_text(f, "dir/sub/gone", "old");
    json_decref(world_request(f->w, "redo", NULL));
    world_assert_equal(f->w, edited);
}

static void change_in_folder(struct edits *f)
{
    world_step(f->w);
    put(f, "dir/sub/file", O_TRUNC, "by the step", 0);
    put(f, "dir/sub/new", O_CREAT, "by the step", 0);
    g_assert_cmpint(f->w->backend->unlink(f->w, "dir/sub/gone"), ==, 0);
    world_end_step(f->w);
}

static void host_remove_folder(struct edits *f)
{
    g_autofree char *dir = world_host_path(f->w, "dir/sub");
    g_autofree char *command = g_strdup_printf("rm -r '%s'", dir);

    g_assert_cmpint(system(command), ==, 0);
}

static void undo_in_folder(struct edits *f)
{
    json_decref(force(f));
    edits_assert_text(f, "dir/sub/file", "old");
    edits_assert_text(f, "dir/sub/gone", "old");
    edits_assert_text(f, "dir/sub/new", NULL);
}

static void removed_folder_comes_back(struct edits *f)
{
    g_autoptr(GPtrArray) edited = NULL;

    change_in_folder(f);
    host_remove_folder(f);
    edited = world_snapshot(f->w);
    undo_in_folder(f);
    json_decref(world_request(f->w, "redo", NULL));
    world_assert_equal(f->w, edited);
}

/* The step has moved a directory, with its metadata recorded or not, and
 * another process has removed it: what the step had not changed in it is gone.
 */
static void moved_and_removed(struct edits *f, bool recorded)
{
    g_autoptr(GPtrArray) edited = NULL;
    json_t *answer;

    world_step(f->w);
    if (recorded)
        put(f, "dir/sub/new", O_CREAT, "by the step", 0);
    g_assert_cmpint(f->w->backend->rename(f->w, "dir/sub", "moved", 0), ==, 0);
    world_end_step(f->w);
    edits_shell(f, "rm -r moved");
    edited = world_snapshot(f->w);
    answer = world_request(f->w, "preview", edits_undo_payload(true));
    g_assert_true(edits_warns(answer, "dir/sub"));
    assert_not_restored(answer, "dir/sub");
    answer = force(f);
    g_assert_true(edits_warns(answer, "dir/sub"));
    assert_not_restored(answer, "dir/sub");
    if (recorded) {
        json_decref(world_request(f->w, "redo", NULL));
        world_assert_equal(f->w, edited);
    }
}

static void lost_folder_is_reported(struct edits *f)
{
    moved_and_removed(f, false);
}

static void emptied_folder_is_reported(struct edits *f)
{
    moved_and_removed(f, true);
}

static void replaced_folder_is_used(struct edits *f)
{
    g_autofree char *dir = world_host_path(f->w, "dir/sub");
    g_autoptr(GPtrArray) edited = NULL;

    change_in_folder(f);
    host_remove_folder(f);
    g_assert_cmpint(mkdir(dir, 0755), ==, 0);
    edits_write(f, "dir/sub/file", "theirs");
    edits_write(f, "dir/sub/other", "theirs");
    edited = world_snapshot(f->w);
    undo_in_folder(f);
    edits_assert_text(f, "dir/sub/other", "theirs");
    json_decref(world_request(f->w, "redo", NULL));
    world_assert_equal(f->w, edited);
}

static void moved_folder_stays_moved(struct edits *f)
{
    g_autofree char *dir = world_host_path(f->w, "dir/sub");
    g_autofree char *away = world_host_path(f->w, "away");

    change_in_folder(f);
    g_assert_cmpint(rename(dir, away), ==, 0);
    undo_in_folder(f);
    edits_assert_text(f, "away/file", "by the step");
    edits_assert_text(f, "away/new", "by the step");
}

/* The file that a forced undo made anew is the one that older steps changed. */
static void older_step_needs_no_force(struct edits *f)
{
    edits_client_step(f, "file", "one");
    edits_client_step(f, "file", "two");
    edits_replace(f, "file", "theirs");
    json_decref(force(f));
    edits_assert_text(f, "file", "one");
    json_decref(world_undo(f->w, 1));
    edits_assert_text(f, "file", "old");
}

/* If the log has only a part of a large file, so has the redo. */
static void redo_keeps_what_has_no_place(struct edits *f)
{
    g_autofree char *large = g_strnfill(LARGE, 'o');
    g_autofree char *part = g_strnfill(1000, 'S');
    json_t *answer;

    put(f, "large", O_CREAT, large, 0);
    world_step(f->w);
    put(f, "large", 0, part, 1);
    world_end_step(f->w);
    json_decref(world_undo(f->w, 1));
    edits_remove(f, "large");
    answer = world_request(f->w, "redo", edits_undo_payload(true));
    assert_not_restored(answer, "large");
    g_assert_true(has_aside(f));
}

static const struct edits_case cases[] = {
    { "forced-undo/a-homeless-file-is-kept", homeless_file_is_kept },
    { "forced-undo/a-homeless-folder-keeps-names",
      homeless_folder_keeps_names },
    { "forced-undo/file-in-place-of-folder-above",
      file_in_place_of_folder_above },
    { "forced-undo/a-temporary-name-stays", temporary_name_stays },
    { "forced-undo/a-removed-folder-comes-back", removed_folder_comes_back },
    { "forced-undo/a-lost-folder-is-reported", lost_folder_is_reported },
    { "forced-undo/an-emptied-folder-is-reported", emptied_folder_is_reported },
    { "forced-undo/a-replaced-folder-is-used", replaced_folder_is_used },
    { "forced-undo/a-moved-folder-stays-moved", moved_folder_stays_moved },
    { "forced-undo/redo-keeps-what-has-no-place",
      redo_keeps_what_has_no_place },
    { "forced-undo/an-older-step-needs-no-force", older_step_needs_no_force },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    edits_add_cases(cases, G_N_ELEMENTS(cases));
    add_forced_undo_links_tests();
    return g_test_run();
}
