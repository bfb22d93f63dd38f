/* SPDX-License-Identifier: Apache-2.0
 *
 * ambient-kill-test - a kill does not undo writes without steps.
 *
 * They become a step that can be undone.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/lib/edits.h"
#include "tests/lib/oracle.h"

static void client_remove(struct edits *f, const char *path)
{
    g_assert_cmpint(f->w->backend->unlink(f->w, path), ==, 0);
}

static void client_rename(struct edits *f, const char *from, const char *to)
{
    g_assert_cmpint(f->w->backend->rename(f->w, from, to, 0), ==, 0);
}

/* Outside any step. */
static void change(struct edits *f)
{
    g_assert_cmpint(f->w->backend->mkdir(f->w, "new", 0755), ==, 0);
    edits_client_put(f, "new/own", O_CREAT, "own");
    edits_client_put(f, "file", 0, "changed");
    client_remove(f, "dir/sub/gone");
    client_rename(f, "dir/file", "new/moved");
    client_rename(f, "new/own", "dir/sub/file");
    client_remove(f, "link");
}

static void kill_and_start(struct edits *f)
{
    f->w->backend->kill(f->w);
    g_assert_true(world_start(f->w));
}

static void stays(struct edits *f)
{
    g_autoptr(GPtrArray) after = NULL;

    change(f);
    after = world_snapshot(f->w);
    kill_and_start(f);
    world_assert_equal(f->w, after);
    g_assert_cmpuint(world_history_count(f->w), ==, 1);
    edits_undone(f);
    world_assert_equal(f->w, f->before);
    json_decref(world_request(f->w, "redo", NULL));
    world_assert_equal(f->w, after);
    kill_and_start(f);
    world_assert_equal(f->w, after);
    edits_undone(f);
    world_assert_equal(f->w, f->before);
}

/* Several in sequence, with commands between them. */
static void again(struct edits *f)
{
    g_autoptr(GPtrArray) first = NULL, second = NULL;
    int64_t id;

    change(f);
    kill_and_start(f);
    first = world_snapshot(f->w);
    edits_client_put(f, "new/second", O_CREAT, "own");
    edits_client_put(f, "file", 0, "changed more");
    kill_and_start(f);
    second = world_snapshot(f->w);
    g_assert_cmpuint(world_history_count(f->w), ==, 2);
    id = world_step(f->w);
    edits_client_put(f, "file", 0, "by a command");
    g_assert_cmpint(id, >, 0);
    kill_and_start(f);
    world_assert_equal(f->w, second);
    edits_undone(f);
    world_assert_equal(f->w, first);
    edits_undone(f);
    world_assert_equal(f->w, f->before);
}

/* Another process edits the files while no engine runs. */
static void edited_later(struct edits *f)
{
    bool is_daemon;

    f->w->backend->stop(f->w);
    f->w->ambient_ms = 400; /* for a heartbeat four times as frequent */
    g_assert_true(world_start(f->w));
    is_daemon = !f->w->backend->engine(f->w); /* with the default */
    change(f);
    f->w->backend->kill(f->w);
    g_usleep((is_daemon ? 4500 : 2000) * 1000);
    edits_write(f, "file", "precious");
    edits_write(f, "new/mine", "precious");
    g_assert_true(world_start(f->w));
    edits_assert_text(f, "file", "precious");
    edits_refused(f, "new/mine");
    edits_refused(f, "file");
    edits_forced(f, "file");
    world_assert_equal(f->w, f->before);
}

static const struct edits_case cases[] = {
    { "ambient-kill/writes-stay", stays },
    { "ambient-kill/writes-stay-each-time", again },
    { "ambient-kill/later-edits-are-found", edited_later },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    edits_add_cases(cases, G_N_ELEMENTS(cases));
    return g_test_run();
}
