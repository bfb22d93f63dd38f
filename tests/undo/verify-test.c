/* SPDX-License-Identifier: Apache-2.0
 *
 * verify-test - a rollback finds outside edits by comparison (verify.h).
 *
 * It compares what a step left with what is there, and must not report the
 * engine's own changes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/lib/edits.h"
#include "tests/lib/oracle.h"

/* ---- edits of what a step touched ---------------------------------------- */

static void same_bytes(struct edits *f)
{
    edits_client_step(f, "file", "new");
    edits_write(f, "file", "new");
    edits_refused(f, "file");
    edits_forced(f, "file");
    edits_assert_text(f, "file", "old");
}

/* Neither size nor mtime shows the edit. */
static void same_times(struct edits *f)
{
    g_autofree char *full = world_host_path(f->w, "file");
    struct timespec times[2];
    struct stat st;

    edits_client_step(f, "file", "new");
    g_assert_cmpint(stat(full, &st), ==, 0);
    edits_write(f, "file", "NEW");
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    g_assert_cmpint(utimensat(AT_FDCWD, full, times, 0), ==, 0);
    edits_refused(f, "file");
    edits_forced(f, "file");
    edits_assert_text(f, "file", "old");
}

/* The replacement of the file is put aside, and redo restores it. */
static void replaced(struct edits *f)
{
    edits_client_step(f, "file", "new");
    edits_replace(f, "file", "mine");
    edits_refused(f, "file");
    edits_forced(f, "file");
    edits_assert_text(f, "file", "old");
    json_decref(world_redo(f->w, 1));
    edits_assert_text(f, "file", "mine");
    edits_client_step(f, "other", "the engine works on");
}

static void removed(struct edits *f)
{
    world_step(f->w);
    edits_client_put(f, "file", 0, "new");
    edits_client_put(f, "created", O_CREAT, "new");
    world_end_step(f->w);
    edits_remove(f, "created");
    edits_remove(f, "file");
    edits_refused(f, "created");
    edits_refused(f, "file");
    edits_forced(f, "file");
    edits_assert_text(f, "file", "old");
    edits_assert_text(f, "created", NULL);
}

static void removed_folder(struct edits *f)
{
    world_step(f->w);
    edits_client_put(f, "dir/sub/file", 0, "new");
    g_assert_cmpint(f->w->backend->unlink(f->w, "dir/sub/gone"), ==, 0);
    world_end_step(f->w);
    edits_remove(f, "dir/sub/file");
    edits_remove(f, "dir/sub");
    edits_refused(f, "dir/sub");
    edits_forced(f, "dir/sub");
    edits_assert_text(f, "dir/sub/gone", "old");
    edits_assert_text(f, "dir/sub/file", "old");
    edits_client_step(f, "other", "the engine works on");
}

static void name_taken(struct edits *f)
{
    world_step(f->w);
    g_assert_cmpint(f->w->backend->unlink(f->w, "file"), ==, 0);
    world_end_step(f->w);
    edits_write(f, "file", "mine");
    edits_refused(f, "file");
    edits_forced(f, "file");
    world_assert_equal(f->w, f->before);
}

static void added_to_created(struct edits *f)
{
    world_step(f->w);
    g_assert_cmpint(f->w->backend->mkdir(f->w, "new", 0755), ==, 0);
    edits_client_put(f, "new/a", O_CREAT, "a");
    world_end_step(f->w);
    edits_write(f, "new/mine", "mine");
    edits_refused(f, "new/mine");
    edits_forced(f, "new/mine");
    world_assert_equal(f->w, f->before);
}

static void moved_away(struct edits *f)
{
    g_autofree char *from = world_host_path(f->w, "renamed");
    g_autofree char *to = world_host_path(f->w, "elsewhere");

    world_step(f->w);
    g_assert_cmpint(f->w->backend->rename(f->w, "file", "renamed", 0), ==, 0);
    world_end_step(f->w);
    g_assert_cmpint(rename(from, to), ==, 0);
    edits_refused(f, "renamed");
    edits_forced(f, "renamed");
    edits_assert_text(f, "file", "old"); /* a copy of it */
    edits_assert_text(f, "elsewhere", "old");
}

static void folder_mode(struct edits *f)
{
    edits_client_step(f, "dir/file", "new");
    edits_chmod(f, "dir", 0700);
    edits_refused(f, "dir");
    edits_forced(f, "dir");
}

/* The client has the file open all the time: the next step finds the file where
 * undo and redo have put it and reports that path, and edits of it by other
 * processes are detected. */
static void while_open(struct edits *f, int (*change)(struct world *w))
{
    struct world *w = f->w;
    void *handle = w->backend->open(w, "file", O_RDWR);
    json_t *report;

    world_step(w);
    g_assert_nonnull(handle);
    g_assert_cmpint(change(w), ==, 0);
    world_end_step(w);
    json_decref(world_undo(w, 1));
    json_decref(world_redo(w, 1));
    json_decref(world_undo(w, 1));
    world_step(w);
    g_assert_cmpint(w->backend->write(w, handle, "new", 3, 0), ==, 0);
    report = world_close_step(w);
    world_assert_affected(report, "file", NULL);
    json_decref(report);
    w->backend->close(w, handle);
    w->backend->stop(w);
    edits_write(f, "file", "mine");
    g_assert_true(world_start(w));
    edits_refused(f, "file");
    edits_forced(f, "file");
    world_assert_equal(w, f->before);
}

static int link_file(struct world *w)
{
    return w->backend->link(w, "file", "dir/sub/one-more");
}

static int move_file(struct world *w)
{
    return w->backend->rename(w, "file", "dir/sub/elsewhere", 0);
}

static void linked_while_open(struct edits *f)
{
    while_open(f, link_file);
}

static void moved_while_open(struct edits *f)
{
    while_open(f, move_file);
}

/* An edit between two steps that both change the file. */
static void between(struct edits *f)
{
    edits_client_step(f, "file", "one");
    edits_write(f, "file", "mine");
    edits_client_step(f, "file", "two");
    json_decref(world_request(f->w, "rollback", edits_undo_payload(true)));
    edits_assert_text(f, "file", "mine");
    edits_refused(f, "file");
}

/* ---- changes that are not edits ------------------------------------------ */

/* An edit of what the step did not touch is not reported. */
static void beside(struct edits *f)
{
    if (edits_is_watched(f)) {
        g_test_skip("the watcher sees it");
        return;
    }
    edits_client_step(f, "dir/file", "new");
    edits_write(f, "dir/mine", "mine");
    edits_write(f, "other", "mine");
    edits_undone(f);
    edits_assert_text(f, "dir/file", "old");
    edits_assert_text(f, "dir/mine", "mine");
    edits_assert_text(f, "other", "mine");
}

/* Undo moves a directory back with whatever is in it by then. */
static void inside_moved(struct edits *f)
{
    if (edits_is_watched(f)) {
        g_test_skip("the watcher sees it");
        return;
    }
    world_step(f->w);
    g_assert_cmpint(f->w->backend->rename(f->w, "dir", "moved", 0), ==, 0);
    world_end_step(f->w);
    edits_write(f, "moved/file", "mine");
    edits_undone(f);
    edits_assert_text(f, "dir/file", "mine");
}

static void own_undo(struct edits *f)
{
    edits_client_step(f, "file", "one");
    edits_client_step(f, "file", "two");
    edits_client_step(f, "dir/file", "three");
    edits_undone(f);
    f->w->backend->stop(f->w);
    g_assert_true(world_start(f->w));
    edits_undone(f);
    edits_undone(f);
    world_assert_equal(f->w, f->before);
}

/* Changes the ctime, but is not a step. */
static void own_nothing(struct edits *f)
{
    edits_client_step(f, "file", "one");
    world_step(f->w);
    g_assert_cmpint(f->w->backend->chmod(f->w, "file", 0644), ==, 0);
    world_end_step(f->w);
    g_assert_cmpuint(world_history_count(f->w), ==, 1);
    edits_undone(f);
    world_assert_equal(f->w, f->before);
}

/* The log removes its link of a file that has another name. */
static void own_eviction(struct edits *f)
{
    g_autoptr(GPtrArray) before = NULL;

    world_step(f->w);
    g_assert_cmpint(f->w->backend->unlink(f->w, "link"), ==, 0);
    world_end_step(f->w);
    before = world_snapshot(f->w);
    edits_client_step(f, "linked", "one");
    json_decref(world_request(f->w, "configure",
                              json_pack("{s:i}", "max_step_count", 1)));
    g_assert_cmpuint(world_history_count(f->w), ==, 1);
    edits_undone(f);
    world_assert_equal(f->w, before);
}

/* A crash half-way through the undo of the newer step. */
static void own_interrupted(struct edits *f)
{
    g_autofree char *step = g_build_filename(f->w->undo_dir, "steps", "2",
                                             NULL);
    g_autofree char *wal = g_build_filename(f->w->undo_dir, "wal",
                                            "in_progress", NULL);

    edits_client_step(f, "file", "one");
    edits_client_step(f, "file", "two");
    f->w->backend->stop(f->w);
    g_assert_cmpint(rename(step, wal), ==, 0);
    g_assert_true(world_start(f->w));
    edits_assert_text(f, "file", "one");
    edits_undone(f);
    world_assert_equal(f->w, f->before);
}

/* ---- table of cases ------------------------------------------------------ */

static const struct edits_case cases[] = {
    { "verify/same-bytes", same_bytes },
    { "verify/same-times", same_times },
    { "verify/replaced", replaced },
    { "verify/removed", removed },
    { "verify/removed-folder", removed_folder },
    { "verify/name-taken", name_taken },
    { "verify/added-to-created", added_to_created },
    { "verify/moved-away", moved_away },
    { "verify/folder-mode", folder_mode },
    { "verify/between-steps", between },
    { "verify/linked-while-open", linked_while_open },
    { "verify/moved-while-open", moved_while_open },
    { "verify/untouched-files-do-not-count", beside },
    { "verify/inside-moved", inside_moved },
    { "verify/own-undo-is-no-edit", own_undo },
    { "verify/own-ineffective-change-is-no-edit", own_nothing },
    { "verify/own-eviction-is-no-edit", own_eviction },
    { "verify/own-interrupted-undo-is-no-edit", own_interrupted },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    edits_add_cases(cases, G_N_ELEMENTS(cases));
    return g_test_run();
}
