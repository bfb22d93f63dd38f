/* SPDX-License-Identifier: Apache-2.0
 *
 * redo_preview_tests - previews of undo and redo.
 */
#include "tests/lib/engine_trees.h"
#include "tests/lib/world.h"
#include "tests/undo/undo_tests.h"

static json_t *find_change(json_t *answer, size_t step, const char *path)
{
    json_t *changes = json_object_get(
        json_array_get(json_object_get(answer, "steps"), step), "changes");
    json_t *change;
    size_t i;

    json_array_foreach(changes, i, change)
    {
        if (g_strcmp0(json_string_value(json_object_get(change, "path")),
                      path) == 0)
            return change;
    }
    return NULL;
}

static void assert_change(json_t *answer, size_t step, const char *path,
                          const char *kind, const char *from)
{
    json_t *change = find_change(answer, step, path);

    g_assert_nonnull(change);
    g_assert_cmpstr(json_string_value(json_object_get(change, "change")), ==,
                    kind);
    g_assert_cmpstr(json_string_value(json_object_get(change, "from")), ==,
                    from);
}

static void preview(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;
    json_t *answer;

    engine_fill_small(w);
    if (world_start(w)) {
        world_step(w);
        DO(rename, "run.sh", "walk.sh", 0);
        world_end_step(w);
        world_step(w);
        DO(rename, "walk.sh", "src/main.c", 0);
        WRITE("small.txt", "longer than it was before");
        DO(unlink, "empty.txt");
        CREATE("new", "new");
        DO(rename, "large.bin", "b", 0);
        DO(link, "b", "c");
        world_end_step(w);
        before = world_snapshot(w);
        answer = world_request(w, "preview", json_pack("{s:i}", "steps", 2));
        world_assert_equal(w, before); /* nothing was done */
        g_assert_cmpuint(world_history_count(w), ==, 2);
        assert_change(answer, 0, "src/main.c", "created", NULL);
        assert_change(answer, 0, "walk.sh", "renamed", "src/main.c");
        assert_change(answer, 0, "small.txt", "modified", NULL);
        assert_change(answer, 0, "empty.txt", "created", NULL);
        assert_change(answer, 0, "new", "deleted", NULL);
        assert_change(answer, 0, "large.bin", "renamed", "b");
        assert_change(answer, 0, "c", "deleted", NULL);
        assert_change(answer, 1, "run.sh", "renamed", "walk.sh");
        json_decref(answer);
        json_decref(world_undo(w, 2)); /* it is not in the way */
    }
}

/* Redo moves a whole directory; the preview lists its content nevertheless. */
static void preview_redone(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;
    json_t *answer;

    world_host_dir(w, "d/sub");
    world_host_file(w, "d/x", "content");
    world_host_file(w, "d/sub/y", "y");
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        engine_remove_tree(w, "d");
        DO(rmdir, "d");
        world_end_step(w);
        json_decref(world_undo(w, 1));
        json_decref(world_redo(w, 1));
        answer = world_request(w, "preview", NULL);
        assert_change(answer, 0, "d", "created", NULL);
        assert_change(answer, 0, "d/sub", "created", NULL);
        assert_change(answer, 0, "d/sub/y", "created", NULL);
        assert_change(answer, 0, "d/x", "created", NULL);
        g_assert_cmpint(json_integer_value(json_object_get(
                            find_change(answer, 0, "d/x"), "size_after")),
                        ==, 7);
        json_decref(answer);
        world_undo_to(w, 1, before);
    }
}

static void preview_refused(gconstpointer data)
{
    world_auto struct world *w = world_new(data);

    engine_fill_small(w);
    if (world_start(w)) {
        world_refused(w, "preview", NULL, 3000);
        world_step(w);
        WRITE("small.txt", "of the step");
        world_end_step(w);
        world_host_file(w, "small.txt", "from outside");
        world_refused(w, "preview", NULL, 3001);
    }
}

static const struct world_case cases[] = {
    { "preview", preview },
    { "preview-redone", preview_redone },
    { "preview-refused", preview_refused },
};

void add_redo_preview_tests(void)
{
    world_add_cases("/redo", WORLD_BACKENDS, cases, G_N_ELEMENTS(cases));
}
