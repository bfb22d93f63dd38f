/* SPDX-License-Identifier: Apache-2.0
 *
 * safeguard_rig - see safeguard_rig.h.
 */
#include "tests/engine/safeguard_rig.h"

#include <errno.h>

#include "common/errors.h"
#include "tests/lib/engine_trees.h"

/* ---- the command --------------------------------------------------------- */

static gpointer command_main(gpointer data)
{
    struct rig_command *command = data;

    command->result = command->run(command->world);
    return NULL;
}

void rig_command_start(struct rig_command *command, struct world *w,
                       int (*run)(struct world *w))
{
    *command = (struct rig_command){ .world = w, .run = run };
    command->thread = g_thread_new("command", command_main, command);
}

int rig_command_end(struct rig_command *command)
{
    g_thread_join(command->thread);
    return command->result;
}

char *rig_file_name(int i)
{
    return g_strdup_printf("dir/f%d", i);
}

/* ---- the agent ----------------------------------------------------------- */

void rig_configure(struct world *w, json_t *rules)
{
    json_decref(world_request(w, "safeguard.configure", rules));
}

char *rig_wait_triggered(struct world *w, const char *kind, json_t **ret)
{
    json_t *event = w->backend->wait_event(w, "event.safeguard_triggered");
    char *id = g_strdup(
        json_string_value(json_object_get(event, "safeguard_id")));

    g_assert_cmpstr(json_string_value(json_object_get(event, "kind")), ==,
                    kind);
    g_assert_nonnull(id);
    if (ret)
        *ret = event;
    else
        json_decref(event);
    return id;
}

json_t *rig_answer_of(const char *id, const char *action)
{
    return json_pack("{s:s, s:s}", "safeguard_id", id, "action", action);
}

void rig_confirm(struct world *w, const char *id, const char *action)
{
    json_t *event;

    json_decref(
        world_request(w, "safeguard.confirm", rig_answer_of(id, action)));
    event = w->backend->wait_event(w, "event.safeguard_decided");
    g_assert_cmpstr(json_string_value(json_object_get(event, "action")), ==,
                    action);
    g_assert_cmpstr(json_string_value(json_object_get(event, "reason")), ==,
                    "confirmed");
    json_decref(event);
}

void rig_close_denied(struct world *w, int64_t step, GPtrArray *before)
{
    json_t *report;

    world_assert_equal(w, before);
    g_assert_cmpint(w->backend->mkdir(w, "more", 0755), ==, -EPERM);
    world_refused(w, "step.open",
                  json_pack("{s:I}", "step_id", (json_int_t)step + 1),
                  ERROR_STEP_ACTIVE);
    world_refused(w, "rollback", NULL, ERROR_STEP_ACTIVE);
    report = world_close_step(w);
    g_assert_true(json_is_true(json_object_get(report, "aborted")));
    g_assert_false(json_is_true(json_object_get(report, "undoable")));
    g_assert_cmpstr(json_string_value(json_object_get(report, "reason")), ==,
                    "denied");
    g_assert_cmpstr(json_string_value(json_object_get(report, "ended")), >,
                    json_string_value(json_object_get(report, "started")));
    json_decref(report);
    g_assert_cmpuint(world_history_count(w), ==, 0);
    world_assert_equal(w, before);
    DO(mkdir, "more", 0755);
    json_decref(world_undo(w, 1)); /* the ambient step */
    world_assert_equal(w, before);
}

/* ---- worlds -------------------------------------------------------------- */

static void fill(struct world *w)
{
    g_autofree char *large = g_strnfill(RIG_LARGE, 'x');

    world_host_dir(w, "dir");
    for (int i = 0; i < RIG_FILES; i++) {
        g_autofree char *name = rig_file_name(i);

        world_host_file(w, name, name);
    }
    world_host_file(w, "large", large);
    world_host_file(w, "small", "small");
    world_host_file(w, "source", large);
}

struct world *rig_start(const struct world_backend *backend)
{
    struct world *w = world_new(backend);

    fill(w);
    if (world_start(w))
        return w;
    world_free(w);
    return NULL;
}
