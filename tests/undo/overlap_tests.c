/* SPDX-License-Identifier: Apache-2.0
 *
 * overlap_tests - an outside edit stops undo only of steps it overlaps.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "interceptor/engine/outside_note.h"
#include "interceptor/log/barriers.h"
#include "tests/lib/edits.h"
#include "tests/lib/oracle.h"
#include "tests/undo/undo_tests.h"

static void beside(struct edits *f)
{
    edits_shell(f, "mkdir .git");
    edits_client_step(f, "file", "new");
    edits_client_step(f, "dir/file", "new");
    edits_barriers_seen(f);
    edits_shell(f, "echo mine > .git/index");
    edits_barriers_seen(f);
    edits_shell(f, "mv linked moved; echo mine > dir/beside");
    edits_goes(f, "preview", 1, ".git/index");
    edits_goes(f, "preview", 2, "dir/beside");
    edits_goes(f, "rollback", 2, ".git/index");
    edits_assert_text(f, "file", "old");
    edits_assert_text(f, "dir/file", "old");
    edits_assert_text(f, ".git/index", "mine\n");
    edits_assert_text(f, "dir/beside", "mine\n");
    edits_assert_text(f, "moved", "old");
    json_decref(world_request(f->w, "redo", json_pack("{s:i}", "steps", 2)));
    edits_assert_text(f, "file", "new");
}

/* Undo one step at a time, as if it were the only one. */
static void of_older(struct edits *f)
{
    edits_make_and_edit(f, "one");
    edits_client_step(f, "file", "new");
    edits_shell(f, "echo > one/y; rm one/y");
    edits_goes(f, "rollback", 1, "one/y");
    edits_assert_text(f, "file", "old");
    edits_refused(f, "one/y");
    edits_forced(f, "one/x");
    edits_no_barrier(f);
}

static void of_newer(struct edits *f)
{
    edits_shell(f, "echo mine > other");
    edits_client_step(f, "file", "new");
    edits_shell(f, "echo mine > another");
    edits_barriers_seen(f);
    edits_client_step(f, "another", "new");
    edits_undone(f);
    edits_assert_text(f, "another", "mine\n");
    edits_goes(f, "rollback", 1, "another");
}

/* Force overrides what is in the way of that step, and nothing else. */
static void forced_for_one(struct edits *f)
{
    edits_make_and_edit(f, "one");
    edits_make_and_edit(f, "two");
    edits_shell(f, "echo > one/y; rm one/y");
    edits_forced(f, "two/x");
    f->w->backend->stop(f->w);
    g_assert_true(world_start(f->w));
    edits_has_barrier(f, "one/x");
    edits_has_barrier(f, "one/y");
    edits_refused(f, "one/y");
    edits_forced(f, "one/x");
    edits_no_barrier(f);
}

/* Renamed and back, so that a comparison finds nothing. */
static void renamed_above(struct edits *f)
{
    edits_client_step(f, "dir/sub/file", "new");
    edits_shell(f, "mv dir moved; mv moved dir");
    edits_refused(f, "dir");
    edits_assert_text(f, "dir/sub/file", "new");
}

static void below_moved(struct edits *f)
{
    world_step(f->w);
    g_assert_cmpint(f->w->backend->rename(f->w, "dir", "moved", 0), ==, 0);
    world_end_step(f->w);
    edits_barriers_seen(f);
    edits_shell(f, "echo mine > moved/sub/mine");
    edits_refused(f, "moved/sub/mine");
}

static void at_removed(struct edits *f)
{
    world_step(f->w);
    g_assert_cmpint(f->w->backend->unlink(f->w, "file"), ==, 0);
    world_end_step(f->w);
    edits_barriers_seen(f);
    edits_shell(f, "mkdir file; echo mine > file/x; rm -r file");
    edits_refused(f, "file");
}

/* The step has changed the file by a name that is gone: no record leads to the
 * other name. */
static void other_name(struct edits *f)
{
    world_step(f->w);
    edits_client_put(f, "link", 0, "new");
    g_assert_cmpint(f->w->backend->unlink(f->w, "link"), ==, 0);
    world_end_step(f->w);
    edits_shell(f, "echo mine > linked");
    edits_refused(f, "linked");
    edits_assert_text(f, "linked", "mine\n");
}

/* Edited while the step was open, so that the step has recorded the edit as its
 * own. */
static void other_name_during(struct edits *f)
{
    world_step(f->w);
    edits_client_put(f, "link", 0, "new");
    edits_barriers_seen(f);
    edits_shell(f, "echo mine > linked");
    edits_barriers_seen(f);
    world_end_step(f->w);
    edits_refused(f, "linked");
    edits_assert_text(f, "linked", "mine\n");
}

static void keep(struct ic *ic, const char *path)
{
    struct ic_barrier *barrier = barrier_new(g_get_real_time(), true);

    barrier_add_path(barrier, path);
    pthread_rwlock_wrlock(&ic->gate);
    outside_keep(ic, barrier);
    pthread_rwlock_unlock(&ic->gate);
}

/* If there are too many edits, the log keeps some, and reports that there were
 * more. */
static void crowd(struct edits *f)
{
    struct ic *ic = f->w->backend->engine(f->w);

    if (!ic) {
        g_test_skip("the engine is in another process");
        return;
    }
    edits_make_and_edit(f, "one");
    edits_client_step(f, "file", "new");
    for (int i = 0; i < 500; i++)
        keep(ic, i % 2 ? ".git/index" : ".git/index.lock");
    edits_goes(f, "preview", 1, ".git/index");
    for (int i = 0; i < 97; i++) {
        g_autofree char *path = g_strdup_printf("other%d", i);

        keep(ic, path);
    }
    edits_goes(f, "preview", 1,
               "and 94 more"); /* besides five of these 99 paths */
    for (int i = 0; i < 50; i++) {
        g_autofree char *path = g_strdup_printf("more%d", i);

        keep(ic, path);
    }
    keep(ic, "file");
    world_refused(f->w, "rollback", edits_undo_payload(false),
                  ERROR_UNDO_BARRIER);
    f->w->backend->stop(f->w);
    g_assert_true(world_start(f->w));
    world_refused(f->w, "rollback", edits_undo_payload(false),
                  ERROR_UNDO_BARRIER);
}

static const struct edits_case cases[] = {
    { "overlap/beside", beside },
    { "overlap/of-an-older-step", of_older },
    { "overlap/of-a-newer-step", of_newer },
    { "overlap/forced-for-one-step", forced_for_one },
    { "overlap/renamed-above", renamed_above },
    { "overlap/below-a-moved-folder", below_moved },
    { "overlap/at-a-removed-name", at_removed },
    { "overlap/by-another-name", other_name },
    { "overlap/by-another-name-during-the-step", other_name_during },
    { "overlap/many-edits-are-reported", crowd },
};

void add_overlap_tests(void)
{
    edits_add_cases(cases, G_N_ELEMENTS(cases));
}
