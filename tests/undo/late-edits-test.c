/* SPDX-License-Identifier: Apache-2.0
 *
 * late-edits-test - edits after a kill are told from the engine's.
 *
 * What another process writes into the step's files then is kept before it is
 * undone. The engine's changes are not foreign, neither in the step nor in its
 * rollback.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/lib/edits.h"
#include "tests/lib/oracle.h"

/* For a heartbeat four times as frequent, except with a daemon. */
static void start_quickly(struct edits *f)
{
    f->w->backend->stop(f->w);
    f->w->ambient_ms = 400;
    g_assert_true(world_start(f->w));
}

/* Wait until changes are later than any of the killed engine. */
static void wait_until_gone(struct edits *f)
{
    bool is_daemon = f->w->backend != &world_folder &&
                     f->w->backend != &world_folder_copy;

    g_usleep((is_daemon ? 4500 : 2000) * 1000);
}

/* Wait until the changes are older than anything that the watcher may not have
 * reported yet: from there on they are certainly the step's. */
static void wait_until_certain(struct edits *f)
{
    bool is_daemon = f->w->backend != &world_folder &&
                     f->w->backend != &world_folder_copy;

    g_usleep((is_daemon ? 4500 : 2700) * 1000);
}

/* The engine's own changes after a long pause are not foreign. */
static void own_after_rest(struct edits *f)
{
    if (f->w->backend != &world_folder) {
        g_test_skip("one backend will do");
        return;
    }
    start_quickly(f);
    g_usleep(1500 * 1000);
    world_step(f->w);
    edits_client_mkdir(f, "new");
    edits_client_put(f, "file", 0, "of the step");
    wait_until_certain(f);
    f->w->backend->kill(f->w);
    g_assert_true(world_start(f->w));
    world_assert_equal(f->w, f->before);
    g_assert_false(edits_is_set_aside(f, "of the step"));
    world_step(f->w);
    edits_client_put(f, "file", 0, "of the step");
    edits_client_put(f, "dir/file", 0, "of the step");
    world_end_step(f->w);
    if (!edits_set_attribute(f, "dir/file", "+i")) {
        g_test_skip("no file can be made immutable here");
        return;
    }
    g_usleep(1500 * 1000);
    world_refused(f->w, "rollback", edits_undo_payload(true), ERROR_IO_ERROR);
    f->w->backend->kill(f->w);
    g_assert_true(edits_set_attribute(f, "dir/file", "-i"));
    g_assert_true(world_start(f->w));
    world_assert_equal(f->w, f->before);
}

/* The first start cannot roll the step back; the next one must not assume that
 * the step's engine lived until then. */
static void before_a_second_start(struct edits *f)
{
    g_autoptr(GError) error = NULL;

    if (f->w->backend != &world_folder) {
        g_test_skip("one backend will do");
        return;
    }
    start_quickly(f);
    world_step(f->w);
    edits_client_put(f, "file", 0, "of the step");
    edits_client_put(f, "dir/file", 0, "of the step");
    f->w->backend->kill(f->w);
    g_usleep(2000 * 1000);
    edits_write(f, "file", "precious");
    if (!edits_set_attribute(f, "dir/file", "+i")) {
        g_test_skip("no file can be made immutable here");
        return;
    }
    g_assert_false(world_folder_open(f->w, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_IO_ERROR);
    edits_write(f, "file", "another");
    g_assert_true(edits_set_attribute(f, "dir/file", "-i"));
    g_assert_true(world_start(f->w));
    world_assert_equal(f->w, f->before);
    g_assert_true(edits_is_set_aside(f, "precious"));
    g_assert_true(edits_is_set_aside(f, "another"));
}

/* Edits made when the engine had been dead for some time. */
static void after_a_kill(struct edits *f)
{
    start_quickly(f);
    world_step(f->w);
    edits_client_mkdir(f, "new");
    edits_client_put(f, "new/own", O_CREAT, "own");
    wait_until_certain(f);
    f->w->backend->kill(f->w);
    g_assert_true(world_start(f->w));
    world_assert_equal(f->w, f->before);
    g_assert_false(edits_is_set_aside(f, "own"));
    world_step(f->w);
    edits_client_mkdir(f, "new");
    edits_client_put(f, "new/own", O_CREAT, "own");
    edits_client_put(f, "file", 0, "of the step");
    f->w->backend->kill(f->w);
    wait_until_gone(f);
    edits_write(f, "new/mine", "precious");
    edits_write(f, "file", "another");
    g_assert_true(world_start(f->w));
    world_assert_equal(f->w, f->before);
    g_assert_true(edits_is_set_aside(f, "precious"));
    g_assert_true(edits_is_set_aside(f, "another"));
}

/* The step moved what it wrote into, removed it, or gave it a further name:
 * undoing that changes its inode, too. */
static void moved_before(struct edits *f)
{
    const struct world_backend *b = f->w->backend;

    start_quickly(f);
    world_step(f->w);
    edits_client_put(f, "file", 0, "of the step");
    edits_client_put(f, "dir/file", 0, "of the step");
    edits_client_put(f, "dir/sub/file", 0, "of the step");
    g_assert_cmpint(b->rename(f->w, "file", "dir/moved", 0), ==, 0);
    g_assert_cmpint(b->unlink(f->w, "dir/file"), ==, 0);
    g_assert_cmpint(b->link(f->w, "dir/sub/file", "again"), ==, 0);
    wait_until_certain(f);
    b->kill(f->w);
    wait_until_gone(f);
    g_assert_true(world_start(f->w));
    world_assert_equal(f->w, f->before);
    g_assert_false(edits_is_set_aside(f, "of the step"));
}

static const struct edits_case cases[] = {
    { "late-edits/after-a-kill-are-kept", after_a_kill },
    { "late-edits/own-change-after-a-pause-is-not", own_after_rest },
    { "late-edits/before-a-second-start", before_a_second_start },
    { "late-edits/of-moved-file-are-kept", moved_before },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    edits_add_cases(cases, G_N_ELEMENTS(cases));
    return g_test_run();
}
