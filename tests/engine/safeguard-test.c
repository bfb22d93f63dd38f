/* SPDX-License-Identifier: Apache-2.0
 *
 * safeguard-test - steps that delete much are held until a client decides.
 *
 * The test plan's 5.4 (doc/design.md), over every backend (world.h).
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/lib/engine_trees.h"
#include "tests/engine/safeguard_rig.h"

enum { THRESHOLD = 5 };

/* Remove as much as possible, like rm -f; returns the first error. */
static int remove_files(struct world *w)
{
    int first = 0;

    for (int i = 0; i < RIG_FILES; i++) {
        g_autofree char *name = rig_file_name(i);
        int rc = w->backend->unlink(w, name);

        first = first ? first : rc;
    }
    return first;
}

static int make_folder(struct world *w)
{
    return w->backend->mkdir(w, "dir/late", 0755);
}

static int count_files(struct world *w)
{
    int count = 0;

    for (int i = 0; i < RIG_FILES; i++) {
        g_autofree char *name = rig_file_name(i);
        g_autofree char *path = world_host_path(w, name);

        count += access(path, F_OK) == 0;
    }
    return count;
}

/* ---- deleting ------------------------------------------------------------ */

static void check_delete_event(json_t *event, int64_t step)
{
    g_assert_cmpint(json_integer_value(json_object_get(event, "step_id")), ==,
                    step);
    g_assert_cmpint(json_integer_value(json_object_get(event, "delete_count")),
                    ==, THRESHOLD);
    g_assert_cmpint(
        json_integer_value(json_object_get(event, "timeout_seconds")), ==, 60);
    g_assert_cmpuint(json_array_size(json_object_get(event, "sample_paths")),
                     ==, THRESHOLD);
    g_assert_cmpstr(json_string_value(json_array_get(
                        json_object_get(event, "sample_paths"), 0)),
                    ==, "dir/f0");
    g_assert_nonnull(json_object_get(event, "message"));
}

/* Make a step in which the command's fifth deletion is held. */
static int64_t hold_delete(struct world *w, struct rig_command *command,
                           char **ret_id)
{
    json_t *event;
    int64_t step;

    rig_configure(w, json_pack("{s:i, s:i}", "delete_threshold", THRESHOLD,
                               "timeout_seconds", 60));
    step = world_step(w);
    rig_command_start(command, w, remove_files);
    *ret_id = rig_wait_triggered(w, "delete", &event);
    check_delete_event(event, step);
    json_decref(event);
    return step;
}

/* The fifth deletion has not happened, other changes wait, too, and reads go
 * on. */
static void sg01(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    g_autoptr(GPtrArray) then = NULL;
    g_autofree char *id = NULL;
    struct rig_command command, other;
    json_t *status;
    struct stat st;
    int64_t step;

    if (!w)
        return;
    step = hold_delete(w, &command, &id);
    g_assert_cmpint(count_files(w), ==, RIG_FILES - THRESHOLD + 1);
    then = world_snapshot(w);
    rig_command_start(&other, w, make_folder);
    g_usleep(RIG_STILL_US);
    /* Only known names of "dir": the client's kernel holds the directory's lock
     * while a deletion there waits, and a new name needs it. */
    DO(stat, "large", &st);
    DO(stat, "dir/f4", &st);
    status = world_request(w, "status", NULL);
    g_assert_cmpstr(
        json_string_value(json_object_get(
            json_object_get(status, "pending_safeguard"), "safeguard_id")),
        ==, id);
    json_decref(status);
    world_assert_equal(w, then);
    world_refused(w, "step.close",
                  json_pack("{s:I}", "step_id", (json_int_t)step), ERROR_BUSY);
    world_refused(w, "safeguard.confirm", rig_answer_of("sg_0_0", "allow"),
                  ERROR_UNKNOWN_SAFEGUARD);
    world_refused(w, "safeguard.confirm", rig_answer_of(id, "perhaps"),
                  ERROR_INVALID_FIELD);
    rig_confirm(w, id, "allow");
    OK(rig_command_end(&command));
    OK(rig_command_end(&other));
}

static void sg02(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *id = NULL, *next = NULL;
    struct rig_command command;
    json_t *report;
    int64_t step;

    if (!w)
        return;
    before = world_snapshot(w);
    step = hold_delete(w, &command, &id);
    rig_confirm(w, id, "allow");
    OK(rig_command_end(&command)); /* from here on the rule is silent */
    g_assert_cmpint(count_files(w), ==, 0);
    world_refused(w, "safeguard.confirm", rig_answer_of(id, "deny"),
                  ERROR_UNKNOWN_SAFEGUARD);
    report = world_close_step(w);
    g_assert_true(json_is_true(json_object_get(report, "undoable")));
    g_assert_null(json_object_get(report, "aborted"));
    json_decref(report);
    world_undo_to(w, 1, before);
    /* In the next step it triggers again. */
    step = hold_delete(w, &command, &next);
    rig_confirm(w, next, "deny");
    g_assert_cmpint(rig_command_end(&command), ==, -EPERM);
    rig_close_denied(w, step, before);
}

static void sg03(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *id = NULL;
    struct rig_command command, other;
    int64_t step;

    if (!w)
        return;
    before = world_snapshot(w);
    step = hold_delete(w, &command, &id);
    rig_command_start(&other, w, make_folder);
    g_usleep(RIG_STILL_US);
    rig_confirm(w, id, "deny");
    world_assert_equal(w, before);
    g_assert_cmpint(rig_command_end(&command), ==, -EPERM);
    g_assert_cmpint(rig_command_end(&other), ==, -EPERM);
    rig_close_denied(w, step, before);
}

static void sg04(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    g_autoptr(GPtrArray) before = NULL;
    struct rig_command command;
    json_t *event;
    int64_t step;

    if (!w)
        return;
    before = world_snapshot(w);
    rig_configure(w, json_pack("{s:i, s:i}", "delete_threshold", 2,
                               "timeout_seconds", 1));
    step = world_step(w);
    rig_command_start(&command, w, remove_files);
    g_free(rig_wait_triggered(w, "delete", NULL));
    event = w->backend->wait_event(w, "event.safeguard_decided");
    g_assert_cmpstr(json_string_value(json_object_get(event, "reason")), ==,
                    "timeout");
    g_assert_cmpstr(json_string_value(json_object_get(event, "action")), ==,
                    "deny");
    json_decref(event);
    g_assert_cmpint(rig_command_end(&command), ==, -EPERM);
    rig_close_denied(w, step, before);
}

static int remove_one(struct world *w)
{
    return w->backend->unlink(w, "small");
}

/* The client aborts the step while the decision is pending. The held change
 * fails, though there is no denied step any more. */
static void abort_pending(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *id = NULL;
    struct rig_command command;
    int64_t step;

    if (!w)
        return;
    before = world_snapshot(w);
    rig_configure(w, json_pack("{s:i}", "delete_threshold", 2));
    step = world_step(w);
    DO(unlink, "large");
    rig_command_start(&command, w, remove_one);
    id = rig_wait_triggered(w, "delete", NULL);
    json_decref(world_request(w, "step.abort",
                              json_pack("{s:I}", "step_id", (json_int_t)step)));
    g_assert_cmpint(rig_command_end(&command), ==, -EPERM);
    world_assert_equal(w, before);
    world_refused(w, "safeguard.confirm", rig_answer_of(id, "allow"),
                  ERROR_UNKNOWN_SAFEGUARD);
    DO(mkdir, "more", 0755);
}

static void abort_denied(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *id = NULL;
    struct rig_command command;
    int64_t step;

    if (!w)
        return;
    before = world_snapshot(w);
    step = hold_delete(w, &command, &id);
    rig_confirm(w, id, "deny");
    g_assert_cmpint(rig_command_end(&command), ==, -EPERM);
    json_decref(world_request(w, "step.abort",
                              json_pack("{s:I}", "step_id", (json_int_t)step)));
    world_assert_equal(w, before);
    DO(mkdir, "more", 0755);
}

/* Files that the step made itself, and changes outside commands, do not count.
 */
static void not_counted(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);

    if (!w)
        return;
    rig_configure(w, json_pack("{s:i, s:i}", "delete_threshold", 3,
                               "overwrite_file_size_threshold", 0));
    world_step(w);
    for (int i = 0; i < RIG_FILES; i++) {
        CREATE("dir/new", "text");
        WRITE("dir/new", "TEXT");
        DO(unlink, "dir/new");
    }
    DO(mkdir, "new", 0755);
    DO(rmdir, "new");
    DO(unlink, "dir/f0");
    DO(unlink, "dir/f1");
    world_end_step(w);
    DO(unlink, "dir/f2");
    DO(unlink, "dir/f3");
    DO(unlink, "dir/f4");
    WRITE("large", "ambient");
}

/* ---- many waiting changes ------------------------------------------------ */

struct mode_change {
    struct world *world;
    char *name;
    int result;
};

static gpointer change_mode(gpointer data)
{
    struct mode_change *change = data;

    change->result = change->world->backend->chmod(change->world, change->name,
                                                   0600);
    return NULL;
}

/* More changes wait than any server has workers, and reads go on. */
static void many_wait(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    struct mode_change changes[RIG_FILES];
    GThread *threads[RIG_FILES];
    g_autofree char *id = NULL;
    struct rig_command command;
    struct stat st;

    if (!w)
        return;
    rig_configure(w, json_pack("{s:i, s:i}", "delete_threshold", 1,
                               "timeout_seconds", 60));
    world_step(w);
    /* For names that it knows, a mount's client does not take the lock. */
    for (int i = 0; i < RIG_FILES; i++) {
        changes[i] = (struct mode_change){ w, rig_file_name(i), 1 };
        DO(stat, changes[i].name, &st);
    }
    DO(stat, "large", &st);
    rig_command_start(&command, w, remove_one);
    id = rig_wait_triggered(w, "delete", NULL);
    for (int i = 0; i < RIG_FILES; i++) {
        threads[i] = g_thread_new("chmod", change_mode, &changes[i]);
    }
    g_usleep(RIG_STILL_US);
    DO(stat, "large", &st);
    for (int i = 0; i < RIG_FILES; i++)
        g_assert_cmpint(changes[i].result, ==, 1);
    rig_confirm(w, id, "allow");
    OK(rig_command_end(&command));
    for (int i = 0; i < RIG_FILES; i++) {
        g_thread_join(threads[i]);
        OK(changes[i].result);
        g_free(changes[i].name);
    }
}

/* A waiting command can be killed before any decision. */
static void killed_command(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    g_autofree char *id = NULL, *path = NULL;
    json_t *status;
    int wait_status;
    pid_t pid;

    if (!w)
        return;
    path = g_build_filename(w->mount, "small", NULL);
    rig_configure(w, json_pack("{s:i, s:i}", "delete_threshold", 1,
                               "timeout_seconds", 60));
    world_step(w);
    pid = fork();
    if (pid == 0) {
        unlink(path);
        _exit(0);
    }
    id = rig_wait_triggered(w, "delete", NULL);
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, &wait_status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(wait_status));
    status = world_request(w, "status", NULL);
    g_assert_true(json_is_object(json_object_get(status, "pending_safeguard")));
    json_decref(status);
    rig_confirm(w, id, "allow");
    OK(access(path, F_OK)); /* an abandoned change does not happen */
}

/* ---- settings ------------------------------------------------------------ */

static void settings(gconstpointer backend)
{
    world_auto struct world *w = rig_start(backend);
    json_t *rules;

    if (!w)
        return;
    rules = world_request(w, "safeguard.configure", NULL);
    g_assert_true(json_is_null(json_object_get(rules, "delete_threshold")));
    g_assert_true(
        json_is_null(json_object_get(rules, "overwrite_file_size_threshold")));
    g_assert_true(
        json_is_false(json_object_get(rules, "rename_over_existing")));
    g_assert_cmpint(
        json_integer_value(json_object_get(rules, "timeout_seconds")), ==, 30);
    json_decref(rules);
    rig_configure(w, json_pack("{s:i, s:b}", "delete_threshold", 1,
                               "rename_over_existing", 1));
    rig_configure(w, json_pack("{s:i}", "overwrite_file_size_threshold", 10));
    rules = world_request(w, "safeguard.configure", NULL);
    g_assert_cmpint(
        json_integer_value(json_object_get(rules, "delete_threshold")), ==, 1);
    g_assert_true(json_is_true(json_object_get(rules, "rename_over_existing")));
    json_decref(rules);
    world_refused(w, "safeguard.configure",
                  json_pack("{s:i}", "delete_threshold", -1),
                  ERROR_INVALID_FIELD);
    world_refused(w, "safeguard.configure",
                  json_pack("{s:s}", "rename_over_existing", "yes"),
                  ERROR_INVALID_FIELD);
    rig_configure(w, json_pack("{s:n, s:n, s:n}", "delete_threshold",
                               "overwrite_file_size_threshold",
                               "rename_over_existing"));
    world_step(w);
    DO(unlink, "large");
    DO(rename, "dir/f0", "dir/f1", 0);
    world_end_step(w);
}

/* ---- crashes ------------------------------------------------------------- */

/* The daemon ends, one way or another, while the decision is pending. */
static void end_pending(const struct world_backend *backend, bool kill)
{
    world_auto struct world *w = rig_start(backend);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *id = NULL;
    struct rig_command command;

    if (!w)
        return;
    before = world_snapshot(w);
    rig_configure(w, json_pack("{s:i}", "delete_threshold", 2));
    world_step(w);
    DO(unlink, "large");
    rig_command_start(&command, w, remove_one); /* its last change */
    id = rig_wait_triggered(w, "delete", NULL);
    if (kill)
        w->backend->kill(w);
    else
        w->backend->stop(w);
    g_assert_cmpint(rig_command_end(&command), <, 0);
    g_assert_true(world_start(w));
    g_assert_nonnull(w->recovery);
    world_assert_equal(w, before);
    g_assert_cmpuint(world_history_count(w), ==, 0);
    DO(mkdir, "more", 0755);
}

static void killed_pending(gconstpointer backend)
{
    end_pending(backend, true);
}

static void stopped_pending(gconstpointer backend)
{
    end_pending(backend, false);
}

static const struct world_case cases[] = {
    { "SG-01-SG-09/held-before", sg01 },
    { "SG-02/allow", sg02 },
    { "SG-03/deny", sg03 },
    { "SG-04/timeout", sg04 },
    { "abort-pending", abort_pending },
    { "abort-denied", abort_denied },
    { "own-files-are-not-counted", not_counted },
    { "settings", settings },
    { "many-changes-wait", many_wait },
    { "a-waiting-command-can-be-killed", killed_command, true },
    { "kill-while-pending", killed_pending, true },
    { "stop-while-pending", stopped_pending, true },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    world_add_cases("", WORLD_WITHOUT_9P, cases, G_N_ELEMENTS(cases));
    return g_test_run();
}
