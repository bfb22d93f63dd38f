/* SPDX-License-Identifier: Apache-2.0
 *
 * redo-test - undo and redo over several steps and restarts.
 *
 * engine-test redoes each of its cases as well.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "interceptor/interceptor.h"
#include "tests/lib/engine_trees.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"
#include "tests/undo/undo_tests.h"

static void expect_nothing(struct world *w)
{
    world_refused(w, "redo", NULL, 3007);
}

/* ---- several steps ------------------------------------------------------- */

/* The trees before and after each step. */
struct walk {
    struct world *w;
    GPtrArray *trees; /* of GPtrArray snapshots */
    GArray *ids;      /* of int64_t: the step that made each but the first */
    guint at;         /* number of steps that are done */
};

static void do_step(struct walk *walk, void (*change)(struct world *w))
{
    int64_t id = world_step(walk->w);

    change(walk->w);
    world_end_step(walk->w);
    g_ptr_array_add(walk->trees, world_snapshot(walk->w));
    g_array_set_size(walk->ids, walk->at);
    g_array_append_val(walk->ids, id);
    walk->at++;
}

/* The steps that can be redone are listed, the next one first. */
static void check_list(struct walk *walk)
{
    json_t *answer = world_request(walk->w, "history", NULL);
    json_t *redos = json_object_get(answer, "redo_steps"), *redo;
    size_t i;

    g_assert_cmpuint(json_array_size(redos), ==,
                     walk->trees->len - 1 - walk->at);
    json_array_foreach(redos, i, redo)
    {
        g_assert_cmpint(json_integer_value(json_object_get(redo, "step_id")),
                        ==, g_array_index(walk->ids, int64_t, walk->at + i));
        g_assert_true(json_is_false(json_object_get(redo, "undoable")));
        g_assert_cmpint(json_integer_value(json_object_get(redo, "affected")),
                        >, 0);
    }
    json_decref(answer);
}

static void go(struct walk *walk, guint to)
{
    g_test_message("from step %u to step %u", walk->at, to);
    if (to < walk->at)
        json_decref(world_undo(walk->w, walk->at - to));
    else if (to > walk->at)
        json_decref(world_redo(walk->w, to - walk->at));
    walk->at = to;
    world_assert_equal(walk->w, g_ptr_array_index(walk->trees, to));
    g_assert_cmpuint(world_history_count(walk->w), ==, to);
    check_list(walk);
}

static void change_files(struct world *w)
{
    WRITE("small.txt", "changed once");
    DO(put, "third", O_APPEND, "and longer", 10, 0);
    DO(chmod, "run.sh", 0600);
}

static void move_around(struct world *w)
{
    DO(mkdir, "new", 0750);
    DO(mkdir, "new/deeper", 0700);
    DO(rename, "src", "new/deeper/src", 0);
    DO(link, "small.txt", "new/deeper/link");
    DO(rename, "empty.txt", "new/was-empty", 0);
    CREATE("new/own", "made here");
}

static void remove_most(struct world *w)
{
    engine_remove_tree(w, "new/deeper");
    DO(unlink, "run.sh");
    DO(unlink, "third");
}

static void replace(struct world *w)
{
    CREATE("run.sh", "another");
    DO(rename, "run.sh", "small.txt", 0);
    DO(truncate, "large.bin", 1000);
    DO(put, "large.bin", 0, "far", 3, 5000000);
}

static void start_over(struct world *w)
{
    engine_remove_tree(w, "");
    CREATE("small.txt", "alone");
}

static void replace_again(struct world *w)
{
    DO(unlink, "small.txt");
    CREATE("small.txt", "of another step");
    DO(chmod, "new", 0700);
}

static struct walk *walk_new(const struct world_backend *backend)
{
    struct walk *walk = g_new0(struct walk, 1);

    walk->w = world_new(backend);
    walk->trees = g_ptr_array_new_with_free_func(
        (GDestroyNotify)g_ptr_array_unref);
    walk->ids = g_array_new(FALSE, FALSE, sizeof(int64_t));
    engine_fill_links(walk->w);
    if (!world_start(walk->w))
        return walk;
    g_ptr_array_add(walk->trees, world_snapshot(walk->w));
    do_step(walk, change_files);
    do_step(walk, move_around);
    do_step(walk, remove_most);
    do_step(walk, replace);
    do_step(walk, start_over);
    return walk;
}

static void walk_free(struct walk *walk)
{
    g_ptr_array_unref(walk->trees);
    g_array_unref(walk->ids);
    world_free(walk->w);
    g_free(walk);
}

static void to_and_fro(gconstpointer data)
{
    static const guint path[] = { 4, 5, 0, 5, 3, 4, 1, 3, 2, 5, 0, 1, 5, 0 };
    struct walk *walk = walk_new(data);

    for (size_t i = 0; walk->trees->len && i < G_N_ELEMENTS(path); i++)
        go(walk, path[i]);
    walk_free(walk);
}

static void restarted(gconstpointer data)
{
    static const guint path[] = { 3, 5, 2, 4, 0, 5 };
    struct walk *walk = walk_new(data);

    for (size_t i = 0; walk->trees->len && i < G_N_ELEMENTS(path); i++) {
        go(walk, path[i]);
        if (i % 2)
            walk->w->backend->kill(walk->w);
        else
            walk->w->backend->stop(walk->w);
        g_assert_true(world_start(walk->w));
    }
    walk_free(walk);
}

/* A step that was redone can be undone after a later one. */
static void then_another(gconstpointer data)
{
    struct walk *walk = walk_new(data);
    struct world *w = walk->w;

    if (walk->trees->len) {
        go(walk, 1);
        go(walk, 3);
        g_ptr_array_set_size(walk->trees, 4);
        do_step(walk, replace_again);
        expect_nothing(w);
        go(walk, 0);
        go(walk, 4);
    }
    walk_free(walk);
}

/* Return the name of the only entry of a directory of the log. */
static char *only_entry(struct world *w, const char *folder)
{
    g_autofree char *path = g_build_filename(w->undo_dir, folder, NULL);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    char *name = g_strdup(g_dir_read_name(dir));

    g_assert_nonnull(name);
    g_assert_null(g_dir_read_name(dir));
    return name;
}

/* Killed when the step was complete but not yet committed: the next start rolls
 * it back, and that can be redone. The redo is younger than the step, or two
 * records would claim one inode number at the same time. */
static void killed_before_commit(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autofree char *history = g_build_filename(w->undo_dir, "history.jsonl",
                                                NULL);
    g_autofree char *wal = g_build_filename(w->undo_dir, "wal/in_progress",
                                            NULL);
    g_autofree char *id = NULL, *step = NULL, *redo = NULL;
    g_autoptr(GPtrArray) before = NULL, after = NULL;

    engine_fill_small(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        world_end_step(w);
        world_step(w);
        WRITE("small.txt", "a step");
        world_end_step(w);
        w->backend->stop(w);
        after = world_snapshot(w);
        id = only_entry(w, "steps");
        step = g_build_filename(w->undo_dir, "steps", id, NULL);
        g_assert_cmpint(rename(step, wal), ==, 0);
        g_assert_cmpint(unlink(history), ==, 0);
        g_assert_true(world_start(w));
        world_assert_equal(w, before);
        redo = only_entry(w, "redo");
        g_assert_cmpint(g_ascii_strtoll(redo, NULL, 10), >, 1);
        world_redo_to(w, 1, after);
        world_undo_to(w, 1, before);
    }
}

/* ---- until the next change ----------------------------------------------- */

static void dropped(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;

    engine_fill_small(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        expect_nothing(w);
        world_step(w);
        WRITE("small.txt", "x");
        world_end_step(w);
        expect_nothing(w);
        json_decref(world_undo(w, 1));
        world_step(w); /* a step that changes nothing is not a change */
        world_end_step(w);
        json_decref(world_redo(w, 1));
        json_decref(world_undo(w, 1));
        DO(chmod, "run.sh", 0700);
        expect_nothing(w);
        world_undo_to(w, 1, before);
    }
}

/* If an undo cannot keep what its redo needs, earlier redos end, too: they
 * start from a state that can no longer be reached. */
static void not_kept(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;

    engine_fill_small(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        WRITE("small.txt", "the first step");
        world_end_step(w);
        world_step(w);
        DO(chmod, "run.sh", 0700);
        world_end_step(w);
        json_decref(world_undo(w, 1));
        json_decref(
            world_request(w, "configure",
                          json_pack("{s:i}", "max_single_step_size_bytes", 1)));
        world_undo_to(w, 1, before);
        expect_nothing(w);
        world_assert_equal(w, before);
    }
}

/* A file that lost its name to another directory, and got it back as a further
 * name. Both ways: which of the two is found first depends on chance. */
static void link_back(struct world *w)
{
    DO(rename, "a/name", "b/other", 0);
    DO(link, "b/other", "a/name");
    DO(rename, "b/name", "a/other", 0);
    DO(link, "a/other", "b/name");
}

static void linked_back(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL, after = NULL;

    world_host_dir(w, "a");
    world_host_dir(w, "b");
    world_host_file(w, "a/name", "it gets one more name");
    world_host_file(w, "b/name", "and this one does");
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        link_back(w);
        world_end_step(w);
        after = world_snapshot(w);
        world_undo_to(w, 1, before);
        world_redo_to(w, 1, after);
        world_undo_to(w, 1, before);
    }
}

static void open_step(gconstpointer data)
{
    world_auto struct world *w = world_new(data);

    engine_fill_small(w);
    if (world_start(w)) {
        world_step(w);
        WRITE("small.txt", "x");
        world_end_step(w);
        json_decref(world_undo(w, 1));
        world_step(w);
        world_refused(w, "redo", NULL, 3006);
    }
}

/* ---- progress ------------------------------------------------------------ */

static int64_t last_done, last_total;

static void on_event(const char *type, const char *payload, void *opaque)
{
    json_t *object = json_loads(payload, 0, NULL);
    int64_t done = json_integer_value(json_object_get(object, "done"));

    if (strcmp(type, "event.progress") == 0) {
        g_assert_cmpint(done, >=, last_done);
        last_done = done;
        last_total = json_integer_value(json_object_get(object, "total"));
    }
    json_decref(object);
}

/* A rollback that takes longer than a clock tick reports its progress. */
static void progress(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    struct ic_options options = {
        .share = w->share,
        .undo_dir = w->undo_dir,
        .progress_ms = 1,
        .event = on_event,
    };
    enum { FILES = 4000 };
    struct ic *ic;

    for (int i = 0; i < FILES; i++) {
        g_autofree char *name = g_strdup_printf("%d", i);

        world_host_file(w, name, "x");
    }
    ic = ic_open_share(&options, NULL);
    g_assert_true(ic_step_open(ic, 1, IC_STEP_COMMAND, NULL, NULL));
    for (int i = 0; i < FILES; i++) {
        g_autofree char *name = g_strdup_printf("%d", i);

        OK(ic_unlinkat(ic, ic_root(ic), name, 0));
    }
    g_assert_true(ic_step_close(ic, 1, 0, 0, 0, NULL, NULL));
    g_assert_true(ic_rollback(ic, 1, false, NULL, NULL));
    ic_close(ic);
    g_assert_cmpint(last_done, ==, last_total);
    g_assert_cmpint(last_total, >=, FILES);
}

static const struct world_case cases[] = {
    { "undo-and-redo-in-any-order", to_and_fro },
    { "redo-survives-restart", restarted },
    { "redone-step-can-be-undone", then_another },
    { "killed-before-commit", killed_before_commit },
    { "next-change-ends-redo", dropped },
    { "undo-without-redo-ends-earlier-redos", not_kept },
    { "linked-back", linked_back },
    { "open-step", open_step },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    world_add_cases("/redo", WORLD_BACKENDS, cases, G_N_ELEMENTS(cases));
    add_redo_preview_tests();
    g_test_add_data_func("/redo/folder/progress", &world_folder, progress);
    return g_test_run();
}
