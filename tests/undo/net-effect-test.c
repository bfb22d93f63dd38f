/* SPDX-License-Identifier: Apache-2.0
 *
 * net-effect-test - a step that changes only times is "unchanged".
 *
 * An undo that counts changes rolls it back together with the step before it.
 */
#include <fcntl.h>
#include <string.h>

#include <glib.h>
#include <jansson.h>

#include "common/errors.h"
#include "tests/lib/engine_trees.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

enum { LARGE = 300 << 10 }; /* more than two blocks of content */

static char large[LARGE + 1];

static void set_up_tree(struct world *w)
{
    CREATE("f", "text");
    CREATE("large", large);
    CREATE("empty", "");
    OK(w->backend->symlink(w, "f", "symlink"));
    CREATE("one", "linked");
    OK(w->backend->link(w, "one", "two"));
    OK(w->backend->mkdir(w, "d", 0755));
}

/* Write a new file and rename it over the old one, as git writes its index. */
static void replace(struct world *w, const char *path, const char *text)
{
    g_autofree char *lock = g_strconcat(path, ".lock", NULL);

    CREATE(lock, text);
    OK(w->backend->rename(w, lock, path, 0));
}

static void rewrite(struct world *w, const char *path, const char *text)
{
    OK(engine_put(w, path, O_TRUNC, text));
}

/* ---- acts ---------------------------------------------------------------- */

static void replace_by_same(struct world *w)
{
    replace(w, "f", "text");
}

static void replace_large_by_same(struct world *w)
{
    replace(w, "large", large);
}

static void rewrite_with_same(struct world *w)
{
    rewrite(w, "f", "text");
    rewrite(w, "large", large);
    rewrite(w, "empty", "");
}

static void rewrite_a_part_with_same(struct world *w)
{
    OK(w->backend->put(w, "large", 0, large + 7, 200 << 10, 7));
}

static void change_and_change_back(struct world *w)
{
    rewrite(w, "f", "else");
    rewrite(w, "f", "text");
    OK(w->backend->chmod(w, "f", 0600));
    OK(w->backend->chmod(w, "f", 0644));
}

static void make_and_remove(struct world *w)
{
    CREATE("d/lock", "x");
    OK(w->backend->unlink(w, "d/lock"));
}

static void move_and_move_back(struct world *w)
{
    OK(w->backend->rename(w, "f", "d/f", 0));
    OK(w->backend->rename(w, "d/f", "f", 0));
}

static void replace_symlink_by_same(struct world *w)
{
    OK(w->backend->symlink(w, "f", "new"));
    OK(w->backend->rename(w, "new", "symlink", 0));
}

static void replace_by_another(struct world *w)
{
    replace(w, "f", "TEXT");
}

static void replace_by_longer(struct world *w)
{
    replace(w, "f", "text and more");
}

static void rewrite_with_another(struct world *w)
{
    rewrite(w, "f", "TEXT");
}

static void change_the_last_byte(struct world *w)
{
    OK(w->backend->put(w, "large", 0, "!", 1, LARGE - 1));
}

static void append(struct world *w)
{
    OK(w->backend->put(w, "f", 0, "+", 1, 4));
}

static void replace_with_another_mode(struct world *w)
{
    replace(w, "f", "text");
    OK(w->backend->chmod(w, "f", 0600));
}

static void replace_one_of_two_links(struct world *w)
{
    replace(w, "one", "linked");
}

static void replace_by_a_link(struct world *w)
{
    CREATE("new", "text");
    OK(w->backend->link(w, "new", "f.lock"));
    OK(w->backend->rename(w, "f.lock", "f", 0));
}

static void replace_symlink_by_another(struct world *w)
{
    OK(w->backend->symlink(w, "d", "new"));
    OK(w->backend->rename(w, "new", "symlink", 0));
}

static void replace_a_written_file(struct world *w)
{
    rewrite(w, "f", "TEXT");
    replace(w, "f", "TEXT");
}

static void create(struct world *w)
{
    CREATE("new", "");
}

static void touch(struct world *w)
{
    const struct timespec times[2] = { { 1, 0 }, { 1, 0 } };

    OK(w->backend->utimes(w, "f", times));
}

static const struct act {
    const char *name;
    void (*run)(struct world *w);
    bool unchanged;
} acts[] = {
    { "replace-by-same", replace_by_same, true },
    { "replace-large-by-same", replace_large_by_same, true },
    { "rewrite-with-same", rewrite_with_same, true },
    { "rewrite-a-part-with-same", rewrite_a_part_with_same, true },
    { "change-and-change-back", change_and_change_back, true },
    { "make-and-remove", make_and_remove, true },
    { "move-and-move-back", move_and_move_back, true },
    { "replace-symlink-by-same", replace_symlink_by_same, true },
    { "replace-by-another", replace_by_another, false },
    { "replace-by-longer", replace_by_longer, false },
    { "rewrite-with-another", rewrite_with_another, false },
    { "change-the-last-byte", change_the_last_byte, false },
    { "append", append, false },
    { "replace-with-another-mode", replace_with_another_mode, false },
    { "replace-one-of-two-links", replace_one_of_two_links, false },
    { "replace-by-a-link", replace_by_a_link, false },
    { "replace-symlink-by-another", replace_symlink_by_another, false },
    { "replace-a-written-file", replace_a_written_file, false },
    { "create", create, false },
    { "touch", touch, false },
};

/* ---- undo ---------------------------------------------------------------- */

static bool has_mark(json_t *report)
{
    return json_is_true(json_object_get(report, "unchanged"));
}

static void go(struct world *w, const char *type, unsigned steps,
               size_t expected)
{
    json_t *answer = world_request(
        w, type,
        json_pack("{s:i, s:s}", "steps", (int)steps, "counts", "changes"));

    g_assert_cmpuint(json_array_size(json_object_get(answer, "steps")), ==,
                     expected);
    json_decref(answer);
}

/* Make two steps, of which the newer one is the act. */
static void an_act(struct world *w, const struct act *act)
{
    g_autoptr(GPtrArray) before = NULL, between = NULL, after = NULL;
    size_t along = act->unchanged ? 1 : 0;
    json_t *report;

    set_up_tree(w);
    before = world_snapshot(w);
    world_step(w);
    CREATE("d/real", "change");
    world_end_step(w);
    between = world_snapshot(w);
    world_step(w);
    act->run(w);
    report = world_close_step(w);
    g_assert_cmpint(has_mark(report), ==, act->unchanged);
    g_assert_true(json_is_true(json_object_get(report, "undoable")));
    json_decref(report);
    after = world_snapshot(w);

    go(w, "preview", 1, 1 + along);
    go(w, "rollback", 1, 1 + along);
    world_assert_equal(w, along ? before : between);
    go(w, "redo", 1, 1 + along);
    world_assert_equal(w, after);

    /* Also known after a restart, and after a redo. */
    w->backend->stop(w);
    g_assert_true(world_start(w));
    go(w, "rollback", 1, 1 + along);
    world_assert_equal(w, along ? before : between);
    go(w, "redo", 1, 1 + along);
    world_assert_equal(w, after);
    json_decref(world_undo(w, 1)); /* this counts all steps */
    world_assert_equal(w, between);
}

static void a_step_alone(struct world *w)
{
    g_autoptr(GPtrArray) before = NULL;

    set_up_tree(w);
    json_decref(world_request(w, "discard", NULL));
    before = world_snapshot(w);
    world_step(w);
    replace_by_same(w);
    world_end_step(w);
    json_decref(
        world_request(w, "rollback", json_pack("{s:s}", "counts", "changes")));
    world_assert_equal(w, before);
    world_refused(w, "rollback", json_pack("{s:s}", "counts", "all of them"),
                  ERROR_INVALID_FIELD);
}

struct run {
    const struct world_backend *backend;
    const struct act *act; /* NULL: a_step_alone() */
};

static void run(gconstpointer data)
{
    const struct run *run = data;
    world_auto struct world *w = world_new(run->backend);

    if (world_start(w)) {
        if (run->act)
            an_act(w, run->act);
        else
            a_step_alone(w);
        w->backend->stop(w);
    }
}

static void add(const struct world_backend *backend, const struct act *act)
{
    struct run *data = g_new(struct run, 1);
    g_autofree char *path = g_strdup_printf("/net-effect/%s/%s", backend->name,
                                            act ? act->name : "alone");

    *data = (struct run){ backend, act };
    g_test_add_data_func_full(path, data, run, g_free);
}

int main(int argc, char **argv)
{
    static const struct world_backend *const backends[] = {
        &world_folder, &world_folder_copy, &world_mount, &world_9p
    };

    umask(022);
    g_test_init(&argc, &argv, NULL);
    memset(large, 'x', LARGE);
    for (size_t i = 0; i < G_N_ELEMENTS(backends); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(acts); j++)
            add(backends[i], &acts[j]);
        add(backends[i], NULL);
    }
    return g_test_run();
}
