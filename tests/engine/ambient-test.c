/* SPDX-License-Identifier: Apache-2.0
 *
 * ambient-test - consecutive changes outside steps form one ambient step.
 *
 * Such steps do not push commands out of the history.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/errors.h"
#include "tests/lib/engine_trees.h"
#include "tests/lib/limits_common.h"
#include "tests/lib/oracle.h"

/* An open ambient step is committed, as after a quiet period, whatever the
 * reply is. */
static void commit(struct world *w)
{
    json_decref(w->backend->request(w, "preview", json_object(), NULL));
}

static void command(struct world *w, const char *path)
{
    world_step(w);
    CREATE(path, "by a command");
    world_end_step(w);
}

static int64_t newest(struct world *w)
{
    json_t *answer = world_request(w, "history", NULL);
    int64_t id = json_integer_value(json_object_get(
        json_array_get(json_object_get(answer, "steps"), 0), "step_id"));

    json_decref(answer);
    return id;
}

/* Changes as a background program makes them: write in place, write anew, by
 * renames, in directories that it makes, and remove it all again. */
static void work(struct world *w, unsigned round)
{
    static const char *const texts[] = { "one", "two, longer", "3", "four" };
    const char *text = texts[round % G_N_ELEMENTS(texts)];
    g_autofree char *name = g_strdup_printf("state/log.%u", round);
    g_autofree char *old = g_strdup_printf("state/log.%u", round - 2);

    OK(engine_put(w, "other", O_TRUNC, text));
    limits_overwrite(w, round % FILES, 100 + round);
    if (round == 0)
        OK(w->backend->mkdir(w, "state", 0755));
    CREATE(name, text);
    if (round >= 2)
        OK(w->backend->unlink(w, old));
    CREATE("replaced.new", text);
    OK(w->backend->rename(w, "replaced.new", "replaced", 0));
    OK(w->backend->chmod(w, "moved", round % 2 ? 0600 : 0640));
}

static void many_are_one(struct world *w)
{
    g_autoptr(GPtrArray) before = world_snapshot(w), between = NULL,
                         after = NULL;

    for (unsigned round = 0; round < 5; round++) {
        work(w, round);
        commit(w);
        g_assert_cmpuint(world_history_count(w), ==, 1);
        g_assert_cmpint(newest(w), ==, -1);
        if (round == 2)
            between = world_snapshot(w);
    }
    after = world_snapshot(w);
    world_undo_to(w, 1, before);
    world_redo_to(w, 1, after);

    /* An ambient step that was undone and redone does not continue. */
    work(w, 5);
    commit(w);
    g_assert_cmpuint(world_history_count(w), ==, 2);
    world_undo_to(w, 1, after);
    world_undo_to(w, 1, before);
}

static void a_command_ends_it(struct world *w)
{
    g_autoptr(GPtrArray) before = NULL, between = NULL;

    work(w, 0);
    commit(w);
    before = world_snapshot(w);
    command(w, "new");
    work(w, 1);
    commit(w);
    work(w, 2);
    between = world_snapshot(w);
    world_step(w);
    world_end_step(w); /* it changes nothing */
    work(w, 3);
    commit(w);
    g_assert_cmpuint(world_history_count(w), ==, 4);
    world_undo_to(w, 1, between);
    world_undo_to(w, 2, before);
}

/* With or without the watcher. */
static void an_edit_ends_it(struct world *w)
{
    g_autofree char *path = world_host_path(w, "other");
    g_autofree char *text = NULL;
    json_t *answer;

    work(w, 0);
    commit(w);
    g_assert_true(g_file_set_contents(path, "precious", -1, NULL));
    OK(w->backend->chmod(w, "replaced", 0600));
    commit(w);
    g_assert_cmpuint(world_history_count(w), ==, 2);
    answer = w->backend->request(w, "rollback", json_pack("{s:i}", "steps", 2),
                                 NULL);
    g_assert_null(answer);
    text = world_read(w, "other");
    g_assert_cmpstr(text, ==, "precious");
}

static void a_kill_keeps_it(struct world *w)
{
    g_autoptr(GPtrArray) before = world_snapshot(w), after = NULL;

    work(w, 0);
    commit(w);
    work(w, 1); /* it is open again */
    after = world_snapshot(w);
    w->backend->kill(w);
    g_assert_true(world_start(w));
    world_assert_equal(w, after);
    g_assert_cmpuint(world_history_count(w), ==, 1);
    work(w, 2); /* a new one, by a process without knowledge of the other */
    commit(w);
    g_assert_cmpuint(world_history_count(w), ==, 2);
    world_undo_to(w, 1, after);
    world_undo_to(w, 1, before);
}

/* An ambient step ends before it exceeds its limit, so it is not a wall. */
static void size_ends_it(struct world *w)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);
    guint count;
    json_t *answer;

    limits_configure(w, "max_single_step_size_bytes", 3 * FILE_SIZE);
    for (unsigned i = 0; i < 2 * FILES; i++) {
        limits_overwrite(w, i % FILES, 1000 + i);
        if (i % 3 == 0)
            commit(w);
    }
    commit(w);
    g_assert_null(limits_take_warning(w, "step_unprotected"));
    count = world_history_count(w);
    g_assert_cmpuint(count, >=, 2 * FILES / 3);
    answer = world_undo(w, count);
    json_decref(answer);
    world_assert_equal(w, before);
}

/* A change that is too large for a step of its own is a wall. */
static void a_large_change_is_a_wall(struct world *w)
{
    limits_configure(w, "max_single_step_size_bytes", FILE_SIZE / 2);
    limits_overwrite(w, 0, 1000);
    world_step(w);
    world_end_step(w);
    limits_expect_unprotected(w, newest(w));
}

/* Nor can it end in time if the record of one change exceeds the limit. */
static void a_deep_change_is_a_wall(struct world *w)
{
    g_autofree char *name = g_strnfill(200, 'd');
    g_autofree char *text = g_strnfill(3000, 'x');
    g_autoptr(GString) path = g_string_new(NULL);

    for (unsigned i = 0; i < 15; i++) {
        g_string_append_printf(path, "%s%s", i ? "/" : "", name);
        OK(w->backend->mkdir(w, path->str, 0755));
    }
    g_string_append(path, "/f");
    CREATE(path->str, text);
    world_step(w);
    world_end_step(w);
    limits_configure(w, "max_single_step_size_bytes", 2000);
    OK(engine_put(w, path->str, O_TRUNC, "other"));
    world_step(w);
    world_end_step(w);
    limits_expect_unprotected(w, newest(w));
}

static void commands_stay(struct world *w)
{
    g_autoptr(GPtrArray) before = NULL;

    limits_configure(w, "max_step_count", 3);
    for (unsigned i = 0; i < 6; i++) {
        g_autofree char *name = g_strdup_printf("command %u", i);

        if (i == 3)
            before = world_snapshot(w);
        command(w, name);
        work(w, 2 * i);
        commit(w);
        work(w, 2 * i + 1);
        commit(w);
    }
    g_assert_cmpuint(world_history_count(w), ==, 6);
    world_undo_to(w, 6, before);
}

static const struct {
    const char *name;
    void (*run)(struct world *w);
} cases[] = {
    { "changes-form-one-step", many_are_one },
    { "a-command-ends-it", a_command_ends_it },
    { "an-edit-ends-it", an_edit_ends_it },
    { "a-kill-keeps-it", a_kill_keeps_it },
    { "the-size-limit-ends-it", size_ends_it },
    { "a-large-change-is-a-wall", a_large_change_is_a_wall },
    { "a-deep-change-is-a-wall", a_deep_change_is_a_wall },
    { "commands-stay", commands_stay },
};

struct run {
    const struct world_backend *backend;
    void (*run)(struct world *w);
};

static void run(gconstpointer data)
{
    const struct run *run = data;
    world_auto struct world *w = limits_world(run->backend);

    if (!w)
        return;
    run->run(w);
    w->backend->stop(w);
}

int main(int argc, char **argv)
{
    static const struct world_backend *const backends[] = {
        &world_folder, &world_folder_copy, &world_mount, &world_9p
    };

    umask(022);
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(backends); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(cases); j++) {
            struct run *data = g_new(struct run, 1);
            g_autofree char *path = g_strdup_printf(
                "/ambient/%s/%s", backends[i]->name, cases[j].name);

            *data = (struct run){ backends[i], cases[j].run };
            g_test_add_data_func_full(path, data, run, g_free);
        }
    }
    return g_test_run();
}
