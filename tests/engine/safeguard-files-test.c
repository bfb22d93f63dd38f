/* SPDX-License-Identifier: Apache-2.0
 *
 * safeguard-files-test - overwrites and replaced names are held.
 *
 * SG-05 and SG-06 of the test plan, for large files, over every backend.
 *
 * Also: what becomes of a denied step that cannot be rolled back.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>

#include "common/errors.h"
#include "tests/lib/engine_trees.h"
#include "tests/engine/safeguard_rig.h"

enum { LIMIT = 100000 }; /* overwrite_file_size_threshold */

/* ---- overwriting and replacing ------------------------------------------- */

static int write_start(struct world *w)
{
    return engine_put(w, "large", 0, "new");
}

static int open_trunc(struct world *w)
{
    return engine_put(w, "large", O_TRUNC, "new");
}

static int create_trunc(struct world *w)
{
    return engine_put(w, "large", O_CREAT | O_TRUNC, "new");
}

static int cut(struct world *w)
{
    return w->backend->truncate(w, "large", RIG_LARGE - 1);
}

static int punch(struct world *w)
{
    return w->backend->fallocate(
        w, "large", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
}

static int zero(struct world *w)
{
    return w->backend->fallocate(w, "large", FALLOC_FL_ZERO_RANGE, 4096, 4096);
}

static int collapse(struct world *w)
{
    return w->backend->fallocate(w, "large", FALLOC_FL_COLLAPSE_RANGE, 4096,
                                 4096);
}

static int insert(struct world *w)
{
    return w->backend->fallocate(w, "large", FALLOC_FL_INSERT_RANGE, 4096,
                                 4096);
}

static int copy_into(struct world *w)
{
    return w->backend->copy_range(w, "source", "large", 0, 8192, 4096);
}

static int rename_onto(struct world *w)
{
    return w->backend->rename(w, "small", "large", 0);
}

static int append_then_write(struct world *w)
{
    int rc = w->backend->put(w, "large", O_APPEND, "end", 3, 0);

    return rc < 0 ? rc : write_start(w);
}

static const struct {
    const char *id;
    int (*run)(struct world *w);
} overwrites[] = {
    { "write", write_start },
    { "open-trunc", open_trunc },
    { "create-trunc", create_trunc },
    { "truncate", cut },
    { "punch", punch },
    { "zero", zero },
    { "collapse", collapse },
    { "insert", insert },
    { "copy-range", copy_into },
    { "rename", rename_onto },
    { "append-then-write", append_then_write },
};

/* Not every file system supports each, nor does FUSE. Without a rule it is
 * simply done, and undone. */
static bool is_there(struct world *w, size_t i)
{
    int rc;

    world_step(w);
    rc = overwrites[i].run(w);
    world_end_step(w);
    if (rc == 0)
        json_decref(world_undo(w, 1));
    else
        g_assert_cmpint(rc, ==, -EOPNOTSUPP);
    return rc == 0;
}

/* Each is held; after a denial the tree is as before; when allowed it is done.
 */
static void sg05(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    g_autoptr(GPtrArray) before = NULL;
    bool there[G_N_ELEMENTS(overwrites)];

    if (!w)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(overwrites); i++)
        there[i] = is_there(w, i);
    before = world_snapshot(w);
    rig_configure(w, json_pack("{s:i, s:i}", "overwrite_file_size_threshold",
                               LIMIT, "timeout_seconds", 60));
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(overwrites); i++) {
        bool allow = i % 2;
        g_autofree char *id = NULL;
        struct rig_command command;
        json_t *event;
        int64_t step;

        g_test_message("%s%s", overwrites[i / 2].id,
                       there[i / 2] ? "" : ": not here");
        if (!there[i / 2])
            continue;
        step = world_step(w);
        rig_command_start(&command, w, overwrites[i / 2].run);
        id = rig_wait_triggered(w, "overwrite", &event);
        g_assert_cmpstr(json_string_value(json_object_get(event, "path")), ==,
                        "large");
        g_assert_cmpint(json_integer_value(json_object_get(event, "threshold")),
                        ==, LIMIT);
        json_decref(event);
        rig_confirm(w, id, allow ? "allow" : "deny");
        g_assert_cmpint(rig_command_end(&command), ==, allow ? 0 : -EPERM);
        if (!allow) {
            rig_close_denied(w, step, before);
            continue;
        }
        world_end_step(w);
        world_undo_to(w, 1, before);
    }
}

/* None of these destroys a large file. */
static void sg05_silent(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    g_autofree char *much = g_strnfill(RIG_LARGE, 'm');

    if (!w)
        return;
    rig_configure(w,
                  json_pack("{s:i}", "overwrite_file_size_threshold", LIMIT));
    world_step(w);
    DO(put, "large", O_APPEND, "end", 3, 0);
    DO(put, "large", 0, "end", 3, RIG_LARGE + 3);
    DO(truncate, "large", 2 * RIG_LARGE);
    DO(fallocate, "large", 0, 0, 3 * RIG_LARGE);
    DO(chmod, "large", 0600);
    DO(rename, "large", "moved", 0);
    DO(rename, "moved", "source", RENAME_EXCHANGE);
    WRITE("small", "changed");
    /* It was small before the step. */
    DO(put, "small", 0, much, RIG_LARGE, 0);
    WRITE("small", "changed");
    world_end_step(w);
}

static int replace_small(struct world *w)
{
    return w->backend->rename(w, "dir/f0", "small", 0);
}

static void sg06(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *id = NULL;
    struct rig_command command;
    json_t *event;
    int64_t step;

    if (!w)
        return;
    before = world_snapshot(w);
    rig_configure(w, json_pack("{s:b, s:i}", "rename_over_existing", 1,
                               "timeout_seconds", 60));
    step = world_step(w);
    DO(rename, "dir/f1", "dir/other", 0);
    DO(rename, "dir/f2", "dir/f3", RENAME_EXCHANGE);
    CREATE("new", "text");
    DO(rename, "dir/f2", "new", 0);
    rig_command_start(&command, w, replace_small);
    id = rig_wait_triggered(w, "rename_over_existing", &event);
    g_assert_cmpstr(json_string_value(json_object_get(event, "path")), ==,
                    "small");
    g_assert_cmpstr(json_string_value(json_object_get(event, "from")), ==,
                    "dir/f0");
    json_decref(event);
    rig_confirm(w, id, "deny");
    g_assert_cmpint(rig_command_end(&command), ==, -EPERM);
    rig_close_denied(w, step, before);
}

/* ---- over the limit ------------------------------------------------------ */

/* A step of which too much would have to be kept can only be denied: it stops
 * there, its changes stay, and all clients get an event. */
static void denied_unprotected(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    g_autoptr(GPtrArray) then = NULL;
    g_autofree char *id = NULL;
    struct rig_command command;
    json_t *answer, *shown;
    int64_t step;

    if (!w)
        return;
    rig_configure(w, json_pack("{s:b, s:i}", "rename_over_existing", 1,
                               "timeout_seconds", 60));
    json_decref(world_request(
        w, "configure", json_pack("{s:i}", "max_single_step_size_bytes", 1)));
    step = world_step(w);
    WRITE("small", "changed");
    then = world_snapshot(w);
    rig_command_start(&command, w, rename_onto);
    id = rig_wait_triggered(w, "rename_over_existing", NULL);
    world_refused(w, "safeguard.confirm", rig_answer_of(id, "deny"),
                  ERROR_STEP_UNPROTECTED);
    g_assert_cmpint(rig_command_end(&command), ==, -EPERM);
    g_assert_cmpint(w->backend->mkdir(w, "more", 0755), ==, -EPERM);
    world_refused(w, "step.close",
                  json_pack("{s:I}", "step_id", (json_int_t)step),
                  ERROR_STEP_UNPROTECTED);
    world_assert_equal(w, then);
    answer = world_request(w, "history", NULL);
    shown = json_array_get(json_object_get(answer, "steps"), 0);
    g_assert_cmpint(json_integer_value(json_object_get(shown, "step_id")), ==,
                    step);
    g_assert_true(json_is_true(json_object_get(shown, "unprotected")));
    json_decref(answer);
    world_refused(w, "rollback", NULL, ERROR_STEP_UNPROTECTED);
    DO(mkdir, "more", 0755);
}

static const struct world_case cases[] = {
    { "SG-05/overwrite", sg05 },
    { "SG-05/harmless-changes-pass", sg05_silent },
    { "SG-06/rename", sg06 },
    { "unprotected-denied", denied_unprotected },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    world_add_cases("", WORLD_WITHOUT_9P, cases, G_N_ELEMENTS(cases));
    return g_test_run();
}
