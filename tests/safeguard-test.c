/* SPDX-License-Identifier: Apache-2.0
 *
 * safeguard-test - destructive steps are held until somebody decides: the
 * testing plan's 5.4, over every backend (world.h). A thread plays the command
 * that destroys, the test plays the agent that decides.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/engine_cases.h"
#include "tests/oracle.h"
#include "tests/world.h"

enum {
    N_FILES = 8,
    LARGE = 300000, /* bytes of a large file */
    LIMIT = 100000, /* overwrite_file_size_threshold */
    THRESHOLD = 5,
    STILL_US = 20000,
};

/* ---- the command --------------------------------------------------------- */

struct command {
    struct world *world;
    int (*run)(struct world *w);
    int result;
    GThread *thread;
};

static gpointer command_main(gpointer data)
{
    struct command *command = data;

    command->result = command->run(command->world);
    return NULL;
}

static void command_start(struct command *command, struct world *w,
                          int (*run)(struct world *w))
{
    *command = (struct command){ .world = w, .run = run };
    command->thread = g_thread_new("command", command_main, command);
}

static int command_end(struct command *command)
{
    g_thread_join(command->thread);
    return command->result;
}

static char *file_name(int i)
{
    return g_strdup_printf("dir/f%d", i);
}

/* Removes all it can, as rm -f does; the first error. */
static int remove_files(struct world *w)
{
    int first = 0;

    for (int i = 0; i < N_FILES; i++) {
        g_autofree char *name = file_name(i);
        int rc = w->backend->unlink(w, name);

        first = first ? first : rc;
    }
    return first;
}

static int make_folder(struct world *w)
{
    return w->backend->mkdir(w, "dir/late", 0755);
}

/* ---- the agent ----------------------------------------------------------- */

static json_t *request(struct world *w, const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = w->backend->request(w, type, payload, &error);

    g_assert_no_error(error);
    return answer;
}

static void request_fails(struct world *w, const char *type, json_t *payload,
                          int code)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(w->backend->request(w, type, payload, &error));
    g_assert_error(error, STEPBACK_ERROR, code);
}

static void configure(struct world *w, json_t *rules)
{
    json_decref(request(w, "safeguard.configure", rules));
}

static char *wait_triggered(struct world *w, const char *kind, json_t **ret)
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

static json_t *answer_of(const char *id, const char *action)
{
    return json_pack("{s:s, s:s}", "safeguard_id", id, "action", action);
}

static void confirm(struct world *w, const char *id, const char *action)
{
    json_t *event;

    json_decref(request(w, "safeguard.confirm", answer_of(id, action)));
    event = w->backend->wait_event(w, "event.safeguard_decided");
    g_assert_cmpstr(json_string_value(json_object_get(event, "action")), ==,
                    action);
    g_assert_cmpstr(json_string_value(json_object_get(event, "reason")), ==,
                    "confirmed");
    json_decref(event);
}

/* The denied step is closed: nothing of it is left, and work goes on. */
static void close_denied(struct world *w, int64_t step, GPtrArray *before)
{
    json_t *report;

    world_assert_equal(w, before);
    g_assert_cmpint(w->backend->mkdir(w, "more", 0755), ==, -EPERM);
    request_fails(w, "step.open",
                  json_pack("{s:I}", "step_id", (json_int_t)step + 1),
                  ERROR_STEP_ACTIVE);
    request_fails(w, "rollback", NULL, ERROR_STEP_ACTIVE);
    report = world_close_step(w, step);
    g_assert_true(json_is_true(json_object_get(report, "aborted")));
    g_assert_false(json_is_true(json_object_get(report, "undoable")));
    g_assert_cmpstr(json_string_value(json_object_get(report, "reason")), ==,
                    "denied");
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
    g_autofree char *large = g_strnfill(LARGE, 'x');

    world_host_dir(w, "dir");
    for (int i = 0; i < N_FILES; i++) {
        g_autofree char *name = file_name(i);

        world_host_file(w, name, name);
    }
    world_host_file(w, "large", large);
    world_host_file(w, "small", "small");
    world_host_file(w, "source", large);
}

static struct world *start(const struct world_backend *backend)
{
    struct world *w = world_new(backend);

    fill(w);
    if (world_start(w))
        return w;
    world_free(w);
    return NULL;
}

static int count_files(struct world *w)
{
    int count = 0;

    for (int i = 0; i < N_FILES; i++) {
        g_autofree char *name = file_name(i);
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

/* A step in which the command's fifth deletion is held. */
static int64_t hold_delete(struct world *w, struct command *command,
                           char **ret_id)
{
    json_t *event;
    int64_t step;

    configure(w, json_pack("{s:i, s:i}", "delete_threshold", THRESHOLD,
                           "timeout_seconds", 60));
    step = world_step(w);
    command_start(command, w, remove_files);
    *ret_id = wait_triggered(w, "delete", &event);
    check_delete_event(event, step);
    json_decref(event);
    return step;
}

/* The fifth deletion has not happened, others wait too, and reads go on. */
static void sg01(gconstpointer backend)
{
    struct world *w = start(backend);
    g_autoptr(GPtrArray) then = NULL;
    g_autofree char *id = NULL;
    struct command command, other;
    json_t *status;
    struct stat st;
    int64_t step;

    if (!w)
        return;
    step = hold_delete(w, &command, &id);
    g_assert_cmpint(count_files(w), ==, N_FILES - THRESHOLD + 1);
    then = world_snapshot(w);
    command_start(&other, w, make_folder);
    g_usleep(STILL_US);
    /* Not of names in "dir" that are new to the client: its kernel holds the
     * folder's lock while a deletion there waits. */
    DO(stat, "large", &st);
    DO(stat, "dir/f4", &st);
    status = request(w, "status", NULL);
    g_assert_cmpstr(
        json_string_value(json_object_get(
            json_object_get(status, "pending_safeguard"), "safeguard_id")),
        ==, id);
    json_decref(status);
    world_assert_equal(w, then);
    request_fails(w, "step.close",
                  json_pack("{s:I}", "step_id", (json_int_t)step), ERROR_BUSY);
    request_fails(w, "safeguard.confirm", answer_of("sg_0_0", "allow"),
                  ERROR_UNKNOWN_SAFEGUARD);
    request_fails(w, "safeguard.confirm", answer_of(id, "perhaps"),
                  ERROR_INVALID_FIELD);
    confirm(w, id, "allow");
    OK(command_end(&command));
    OK(command_end(&other));
    world_free(w);
}

static void sg02(gconstpointer backend)
{
    struct world *w = start(backend);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *id = NULL, *next = NULL;
    struct command command;
    json_t *report;
    int64_t step;

    if (!w)
        return;
    before = world_snapshot(w);
    step = hold_delete(w, &command, &id);
    confirm(w, id, "allow");
    OK(command_end(&command)); /* the rule is silent from here */
    g_assert_cmpint(count_files(w), ==, 0);
    request_fails(w, "safeguard.confirm", answer_of(id, "deny"),
                  ERROR_UNKNOWN_SAFEGUARD);
    report = world_close_step(w, step);
    g_assert_true(json_is_true(json_object_get(report, "undoable")));
    g_assert_null(json_object_get(report, "aborted"));
    json_decref(report);
    json_decref(world_undo(w, 1));
    world_assert_equal(w, before);
    /* In the next step it speaks again. */
    step = hold_delete(w, &command, &next);
    confirm(w, next, "deny");
    g_assert_cmpint(command_end(&command), ==, -EPERM);
    close_denied(w, step, before);
    world_free(w);
}

static void sg03(gconstpointer backend)
{
    struct world *w = start(backend);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *id = NULL;
    struct command command, other;
    int64_t step;

    if (!w)
        return;
    before = world_snapshot(w);
    step = hold_delete(w, &command, &id);
    command_start(&other, w, make_folder);
    g_usleep(STILL_US);
    confirm(w, id, "deny");
    world_assert_equal(w, before);
    g_assert_cmpint(command_end(&command), ==, -EPERM);
    g_assert_cmpint(command_end(&other), ==, -EPERM);
    close_denied(w, step, before);
    world_free(w);
}

static void sg04(gconstpointer backend)
{
    struct world *w = start(backend);
    g_autoptr(GPtrArray) before = NULL;
    struct command command;
    json_t *event;
    int64_t step;

    if (!w)
        return;
    before = world_snapshot(w);
    configure(w, json_pack("{s:i, s:i}", "delete_threshold", 2,
                           "timeout_seconds", 1));
    step = world_step(w);
    command_start(&command, w, remove_files);
    g_free(wait_triggered(w, "delete", NULL));
    event = w->backend->wait_event(w, "event.safeguard_decided");
    g_assert_cmpstr(json_string_value(json_object_get(event, "reason")), ==,
                    "timeout");
    g_assert_cmpstr(json_string_value(json_object_get(event, "action")), ==,
                    "deny");
    json_decref(event);
    g_assert_cmpint(command_end(&command), ==, -EPERM);
    close_denied(w, step, before);
    world_free(w);
}

static int remove_one(struct world *w)
{
    return w->backend->unlink(w, "small");
}

/* Its owner gives the step up while the decision is pending. What was held
 * fails, though there is no denied step any more. */
static void abort_pending(gconstpointer backend)
{
    struct world *w = start(backend);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *id = NULL;
    struct command command;
    int64_t step;

    if (!w)
        return;
    before = world_snapshot(w);
    configure(w, json_pack("{s:i}", "delete_threshold", 2));
    step = world_step(w);
    DO(unlink, "large");
    command_start(&command, w, remove_one);
    id = wait_triggered(w, "delete", NULL);
    json_decref(request(w, "step.abort",
                        json_pack("{s:I}", "step_id", (json_int_t)step)));
    g_assert_cmpint(command_end(&command), ==, -EPERM);
    world_assert_equal(w, before);
    request_fails(w, "safeguard.confirm", answer_of(id, "allow"),
                  ERROR_UNKNOWN_SAFEGUARD);
    DO(mkdir, "more", 0755);
    world_free(w);
}

static void abort_denied(gconstpointer backend)
{
    struct world *w = start(backend);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *id = NULL;
    struct command command;
    int64_t step;

    if (!w)
        return;
    before = world_snapshot(w);
    step = hold_delete(w, &command, &id);
    confirm(w, id, "deny");
    g_assert_cmpint(command_end(&command), ==, -EPERM);
    json_decref(request(w, "step.abort",
                        json_pack("{s:I}", "step_id", (json_int_t)step)));
    world_assert_equal(w, before);
    DO(mkdir, "more", 0755);
    world_free(w);
}

/* What the step made itself, and what no command makes, is not counted. */
static void not_counted(gconstpointer backend)
{
    struct world *w = start(backend);
    int64_t step;

    if (!w)
        return;
    configure(w, json_pack("{s:i, s:i}", "delete_threshold", 3,
                           "overwrite_file_size_threshold", 0));
    step = world_step(w);
    for (int i = 0; i < N_FILES; i++) {
        CREATE("dir/new", "text");
        WRITE("dir/new", "TEXT");
        DO(unlink, "dir/new");
    }
    DO(mkdir, "new", 0755);
    DO(rmdir, "new");
    DO(unlink, "dir/f0");
    DO(unlink, "dir/f1");
    json_decref(world_close_step(w, step));
    DO(unlink, "dir/f2");
    DO(unlink, "dir/f3");
    DO(unlink, "dir/f4");
    WRITE("large", "ambient");
    world_free(w);
}

/* ---- many who wait ------------------------------------------------------- */

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
    struct world *w = start(backend);
    struct mode_change changes[N_FILES];
    GThread *threads[N_FILES];
    g_autofree char *id = NULL;
    struct command command;
    struct stat st;

    if (!w)
        return;
    configure(w, json_pack("{s:i, s:i}", "delete_threshold", 1,
                           "timeout_seconds", 60));
    world_step(w);
    /* Names that a mount's client knows, it asks for without the lock. */
    for (int i = 0; i < N_FILES; i++) {
        changes[i] = (struct mode_change){ w, file_name(i), 1 };
        DO(stat, changes[i].name, &st);
    }
    DO(stat, "large", &st);
    command_start(&command, w, remove_one);
    id = wait_triggered(w, "delete", NULL);
    for (int i = 0; i < N_FILES; i++) {
        threads[i] = g_thread_new("chmod", change_mode, &changes[i]);
    }
    g_usleep(STILL_US);
    DO(stat, "large", &st);
    for (int i = 0; i < N_FILES; i++)
        g_assert_cmpint(changes[i].result, ==, 1);
    confirm(w, id, "allow");
    OK(command_end(&command));
    for (int i = 0; i < N_FILES; i++) {
        g_thread_join(threads[i]);
        OK(changes[i].result);
        g_free(changes[i].name);
    }
    world_free(w);
}

/* A command that waits can be killed, though nothing is decided. */
static void killed_command(gconstpointer backend)
{
    struct world *w = start(backend);
    g_autofree char *id = NULL, *path = NULL;
    json_t *status;
    int wait_status;
    pid_t pid;

    if (!w)
        return;
    path = g_build_filename(w->mount, "small", NULL);
    configure(w, json_pack("{s:i, s:i}", "delete_threshold", 1,
                           "timeout_seconds", 60));
    world_step(w);
    pid = fork();
    if (pid == 0) {
        unlink(path);
        _exit(0);
    }
    id = wait_triggered(w, "delete", NULL);
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, &wait_status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(wait_status));
    status = request(w, "status", NULL);
    g_assert_true(json_is_object(json_object_get(status, "pending_safeguard")));
    json_decref(status);
    confirm(w, id, "allow");
    OK(access(path, F_OK)); /* what was given up is not done */
    world_free(w);
}

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
    return w->backend->truncate(w, "large", LARGE - 1);
}

static int punch(struct world *w)
{
    return w->backend->fallocate(
        w, "large", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
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
    { "copy-range", copy_into },
    { "rename", rename_onto },
    { "append-then-write", append_then_write },
};

/* Each is held; denied, the tree is as before; allowed, it is done. */
static void sg05(gconstpointer backend)
{
    struct world *w = start(backend);
    g_autoptr(GPtrArray) before = NULL;

    if (!w)
        return;
    before = world_snapshot(w);
    configure(w, json_pack("{s:i, s:i}", "overwrite_file_size_threshold", LIMIT,
                           "timeout_seconds", 60));
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(overwrites); i++) {
        bool allow = i % 2;
        g_autofree char *id = NULL;
        struct command command;
        json_t *event;
        int64_t step = world_step(w);

        g_test_message("%s", overwrites[i / 2].id);
        command_start(&command, w, overwrites[i / 2].run);
        id = wait_triggered(w, "overwrite", &event);
        g_assert_cmpstr(json_string_value(json_object_get(event, "path")), ==,
                        "large");
        g_assert_cmpint(json_integer_value(json_object_get(event, "threshold")),
                        ==, LIMIT);
        json_decref(event);
        confirm(w, id, allow ? "allow" : "deny");
        g_assert_cmpint(command_end(&command), ==, allow ? 0 : -EPERM);
        if (!allow) {
            close_denied(w, step, before);
            continue;
        }
        json_decref(world_close_step(w, step));
        json_decref(world_undo(w, 1));
        world_assert_equal(w, before);
    }
    world_free(w);
}

/* None of these destroys a large file. */
static void sg05_silent(gconstpointer backend)
{
    struct world *w = start(backend);
    g_autofree char *much = g_strnfill(LARGE, 'm');
    int64_t step;

    if (!w)
        return;
    configure(w, json_pack("{s:i}", "overwrite_file_size_threshold", LIMIT));
    step = world_step(w);
    DO(put, "large", O_APPEND, "end", 3, 0);
    DO(put, "large", 0, "end", 3, LARGE + 3);
    DO(truncate, "large", 2 * LARGE);
    DO(fallocate, "large", 0, 0, 3 * LARGE);
    DO(chmod, "large", 0600);
    DO(rename, "large", "moved", 0);
    DO(rename, "moved", "source", RENAME_EXCHANGE);
    WRITE("small", "changed");
    /* It was small before the step. */
    DO(put, "small", 0, much, LARGE, 0);
    WRITE("small", "changed");
    json_decref(world_close_step(w, step));
    world_free(w);
}

static int replace_small(struct world *w)
{
    return w->backend->rename(w, "dir/f0", "small", 0);
}

static void sg06(gconstpointer backend)
{
    struct world *w = start(backend);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *id = NULL;
    struct command command;
    json_t *event;
    int64_t step;

    if (!w)
        return;
    before = world_snapshot(w);
    configure(w, json_pack("{s:b, s:i}", "rename_over_existing", 1,
                           "timeout_seconds", 60));
    step = world_step(w);
    DO(rename, "dir/f1", "dir/other", 0);
    DO(rename, "dir/f2", "dir/f3", RENAME_EXCHANGE);
    CREATE("new", "text");
    DO(rename, "dir/f2", "new", 0);
    command_start(&command, w, replace_small);
    id = wait_triggered(w, "rename_over_existing", &event);
    g_assert_cmpstr(json_string_value(json_object_get(event, "path")), ==,
                    "small");
    g_assert_cmpstr(json_string_value(json_object_get(event, "from")), ==,
                    "dir/f0");
    json_decref(event);
    confirm(w, id, "deny");
    g_assert_cmpint(command_end(&command), ==, -EPERM);
    close_denied(w, step, before);
    world_free(w);
}

/* ---- settings ------------------------------------------------------------ */

static void settings(gconstpointer backend)
{
    struct world *w = start(backend);
    json_t *rules;
    int64_t step;

    if (!w)
        return;
    rules = request(w, "safeguard.configure", NULL);
    g_assert_true(json_is_null(json_object_get(rules, "delete_threshold")));
    g_assert_true(
        json_is_null(json_object_get(rules, "overwrite_file_size_threshold")));
    g_assert_true(
        json_is_false(json_object_get(rules, "rename_over_existing")));
    g_assert_cmpint(
        json_integer_value(json_object_get(rules, "timeout_seconds")), ==, 30);
    json_decref(rules);
    configure(w, json_pack("{s:i, s:b}", "delete_threshold", 1,
                           "rename_over_existing", 1));
    configure(w, json_pack("{s:i}", "overwrite_file_size_threshold", 10));
    rules = request(w, "safeguard.configure", NULL);
    g_assert_cmpint(
        json_integer_value(json_object_get(rules, "delete_threshold")), ==, 1);
    g_assert_true(json_is_true(json_object_get(rules, "rename_over_existing")));
    json_decref(rules);
    request_fails(w, "safeguard.configure",
                  json_pack("{s:i}", "delete_threshold", -1),
                  ERROR_INVALID_FIELD);
    request_fails(w, "safeguard.configure",
                  json_pack("{s:s}", "rename_over_existing", "yes"),
                  ERROR_INVALID_FIELD);
    configure(w, json_pack("{s:n, s:n, s:n}", "delete_threshold",
                           "overwrite_file_size_threshold",
                           "rename_over_existing"));
    step = world_step(w);
    DO(unlink, "large");
    DO(rename, "dir/f0", "dir/f1", 0);
    json_decref(world_close_step(w, step));
    world_free(w);
}

/* ---- crashes ------------------------------------------------------------- */

/* The daemon ends, one way or another, while the decision is pending. */
static void end_pending(const struct world_backend *backend, bool kill)
{
    struct world *w = start(backend);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *id = NULL;
    struct command command;

    if (!w)
        return;
    before = world_snapshot(w);
    configure(w, json_pack("{s:i}", "delete_threshold", 2));
    world_step(w);
    DO(unlink, "large");
    command_start(&command, w, remove_one); /* which is the last it does */
    id = wait_triggered(w, "delete", NULL);
    if (kill)
        w->backend->kill(w);
    else
        w->backend->stop(w);
    g_assert_cmpint(command_end(&command), <, 0);
    g_assert_true(world_start(w));
    g_assert_nonnull(w->recovery);
    world_assert_equal(w, before);
    g_assert_cmpuint(world_history_count(w), ==, 0);
    DO(mkdir, "more", 0755);
    world_free(w);
}

static void killed_pending(gconstpointer backend)
{
    end_pending(backend, true);
}

static void stopped_pending(gconstpointer backend)
{
    end_pending(backend, false);
}

static const struct {
    const char *id;
    void (*run)(gconstpointer backend);
    bool mount_only; /* it needs a client that outlives the engine */
} cases[] = {
    { "SG-01-SG-09/held-before", sg01 },
    { "SG-02/allow", sg02 },
    { "SG-03/deny", sg03 },
    { "SG-04/timeout", sg04 },
    { "SG-05/overwrite", sg05 },
    { "SG-05/silent", sg05_silent },
    { "SG-06/rename", sg06 },
    { "abort-pending", abort_pending },
    { "abort-denied", abort_denied },
    { "not-counted", not_counted },
    { "settings", settings },
    { "many-wait", many_wait },
    { "killed-command", killed_command, true },
    { "killed-pending", killed_pending, true },
    { "stopped-pending", stopped_pending, true },
};

int main(int argc, char **argv)
{
    static const struct world_backend *const backends[] = { &world_folder,
                                                            &world_folder_copy,
                                                            &world_mount };

    umask(022);
    g_test_init(&argc, &argv, NULL);
    for (size_t b = 0; b < G_N_ELEMENTS(backends); b++) {
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
            g_autofree char *path = g_strdup_printf("/%s/%s", backends[b]->name,
                                                    cases[i].id);

            if (!cases[i].mount_only || backends[b] == &world_mount)
                g_test_add_data_func(path, backends[b], cases[i].run);
        }
    }
    return g_test_run();
}
