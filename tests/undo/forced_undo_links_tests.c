/* SPDX-License-Identifier: Apache-2.0
 *
 * forced_undo_links_tests - forced undo of files with several names.
 *
 * Another process has removed some of the names.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/edits.h"
#include "tests/lib/oracle.h"
#include "tests/undo/undo_tests.h"

static void force(struct edits *f)
{
    json_decref(world_request(f->w, "rollback", edits_undo_payload(true)));
}

/* A forced undo restores the tree before the step, and redo restores the tree
 * before the undo. */
static void assert_goes_to_and_fro(struct edits *f)
{
    g_autoptr(GPtrArray) edited = world_snapshot(f->w);

    force(f);
    edits_assert_text(f, "link", "old");
    edits_assert_text(f, "linked", "old");
    json_decref(world_request(f->w, "redo", NULL));
    world_assert_equal(f->w, edited);
    edits_undone(f);
    edits_assert_text(f, "link", "old");
    edits_assert_text(f, "linked", "old");
}

static void redo_has_content_of_other_name(struct edits *f)
{
    edits_client_step(f, "link", "by the step");
    edits_remove(f, "link");
    assert_goes_to_and_fro(f);
}

static void redo_has_edit_by_other_name(struct edits *f)
{
    edits_client_step(f, "link", "by the step");
    edits_remove(f, "link");
    edits_write(f, "linked", "theirs");
    assert_goes_to_and_fro(f);
    edits_assert_text(f, "linked", "old");
}

static void redo_has_edit_after_replacing(struct edits *f)
{
    edits_client_step(f, "link", "by the step");
    edits_replace(f, "link", "theirs");
    edits_write(f, "linked", "theirs as well");
    assert_goes_to_and_fro(f);
}

static void redo_has_edit_by_moved_name(struct edits *f)
{
    edits_client_step(f, "link", "by the step");
    edits_remove(f, "link");
    edits_shell(f, "mkdir -p new/deep && mv linked new/deep/linked && "
                   "ln new/deep/linked third && printf theirs > third");
    {
        g_autoptr(GPtrArray) edited = world_snapshot(f->w);

        force(f);
        edits_assert_text(f, "link", "old");
        json_decref(world_request(f->w, "redo", NULL));
        world_assert_equal(f->w, edited);
    }
}

static void redo_has_mode_of_other_name(struct edits *f)
{
    world_step(f->w);
    g_assert_cmpint(f->w->backend->chmod(f->w, "link", 0600), ==, 0);
    world_end_step(f->w);
    edits_remove(f, "link");
    edits_chmod(f, "linked", 0640);
    assert_goes_to_and_fro(f);
}

/* The remaining name is in a directory that the undo moves, too. */
static void link_is_found_in_moved_folder(struct edits *f)
{
    g_autoptr(GPtrArray) edited = NULL;

    edits_shell(f, "ln link dir/sub/third");
    world_step(f->w);
    edits_client_put(f, "link", O_TRUNC, "by the step");
    g_assert_cmpint(f->w->backend->rename(f->w, "dir/sub", "moved", 0), ==, 0);
    world_end_step(f->w);
    edits_shell(f, "rm link linked; printf theirs > moved/third");
    edited = world_snapshot(f->w);
    force(f);
    edits_assert_text(f, "link", "old");
    edits_assert_text(f, "dir/sub/third", "old");
    json_decref(world_request(f->w, "redo", NULL));
    world_assert_equal(f->w, edited);
}

static const struct edits_case cases[] = {
    { "link-is-found-in-moved-folder", link_is_found_in_moved_folder },
    { "redo-has-content-of-other-name", redo_has_content_of_other_name },
    { "redo-has-edit-by-other-name", redo_has_edit_by_other_name },
    { "redo-has-edit-after-replacing", redo_has_edit_after_replacing },
    { "redo-has-edit-by-moved-name", redo_has_edit_by_moved_name },
    { "redo-has-mode-of-other-name", redo_has_mode_of_other_name },
};

void add_forced_undo_links_tests(void)
{
    edits_add_cases(cases, G_N_ELEMENTS(cases));
}
