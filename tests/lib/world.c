/* SPDX-License-Identifier: Apache-2.0
 *
 * world - see world.h: what all backends share.
 */
#include "tests/lib/world.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/log_name.h"
#include "common/unix_socket.h"
#include "interceptor/sys/sys.h"
#include "tests/lib/oracle.h"

void world_add_cases(const char *prefix, size_t n,
                     const struct world_case *cases, size_t count)
{
    static const struct world_backend *const backends[WORLD_BACKENDS] = {
        &world_folder, &world_folder_copy, &world_mount, &world_9p
    };

    for (size_t b = 0; b < n; b++) {
        for (size_t i = 0; i < count; i++) {
            g_autofree char *path = g_strdup_printf(
                "%s/%s/%s", prefix, backends[b]->name, cases[i].name);

            if (!cases[i].mount_only || backends[b] == &world_mount)
                g_test_add_data_func(path, backends[b], cases[i].run);
        }
    }
}

/* Return a directory on another file system than the temporary directory. */
static char *elsewhere(void)
{
    char *path = g_strdup("/dev/shm/stepback-test-XXXXXX");

    return g_mkdtemp(path) ? path : (g_free(path), NULL);
}

struct world *world_new(const struct world_backend *backend)
{
    struct world *world = g_new0(struct world, 1);
    g_autofree char *base = g_build_filename(g_get_tmp_dir(),
                                             "stepback-test-XXXXXX", NULL);

    world->backend = backend;
    world->base = g_strdup(g_mkdtemp(base));
    g_assert_nonnull(world->base);
    world->share = g_build_filename(world->base, "share", NULL);
    world->mount = g_build_filename(world->base, "mount", NULL);
    g_assert_cmpint(g_mkdir(world->share, 0755), ==, 0);
    g_assert_cmpint(g_mkdir(world->mount, 0755), ==, 0);
    world->undo_dir = backend->log_elsewhere
                          ? elsewhere()
                          : g_build_filename(world->base, LOG_FOLDER, "share",
                                             NULL);
    world->next_id = 1;
    return world;
}

void world_free_at(struct world **world)
{
    if (*world)
        world_free(*world);
}

void world_free(struct world *world)
{
    if (world->state)
        world->backend->stop(world);
    sys_remove_tree(AT_FDCWD, world->base);
    if (world->undo_dir && world->backend->log_elsewhere)
        sys_remove_tree(AT_FDCWD, world->undo_dir);
    json_decref(world->recovery);
    g_free(world->base);
    g_free(world->share);
    g_free(world->mount);
    g_free(world->undo_dir);
    g_free(world);
}

/* fork() would copy the page tables, which are large with sanitizers. */
static pid_t spawn(const char *const *argv, const int *fds, size_t count)
{
    pid_t pid = vfork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (size_t i = 0; i < count; i++)
            if (fds[i] > 0)
                fcntl(fds[i], F_SETFD, 0);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    return pid;
}

static char *control_path(struct world *world)
{
    return g_build_filename(world->base, "control.sock", NULL);
}

pid_t world_spawn(struct world *world, const char *program,
                  const char *const *options, const int *fds, size_t count)
{
    g_autofree char *control = control_path(world);
    const char *common[] = { program,
                             "--allow-suid",
                             "--allow-devices",
                             "--shared-dir",
                             world->share,
                             "--undo-dir",
                             world->undo_dir,
                             "--interceptor-socket",
                             control,
                             "--log-level",
                             g_test_verbose() ? "debug" : "error" };
    g_autoptr(GPtrArray) argv = g_ptr_array_new();

    for (size_t i = 0; i < G_N_ELEMENTS(common); i++)
        g_ptr_array_add(argv, (void *)(uintptr_t)common[i]);
    for (size_t i = 0; i == 0 || options[i - 1]; i++)
        g_ptr_array_add(argv, (void *)(uintptr_t)options[i]);
    return spawn((const char *const *)argv->pdata, fds, count);
}

int world_connect(struct world *world)
{
    g_autofree char *path = control_path(world);

    return unix_socket_connect(path, 0);
}

bool world_start(struct world *world)
{
    if (!world->undo_dir || !world->backend->start(world)) {
        g_test_skip("this backend cannot run here");
        return false;
    }
    return true;
}

/* ---- steps --------------------------------------------------------------- */

json_t *world_request(struct world *world, const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = world->backend->request(world, type, payload, &error);

    g_assert_no_error(error);
    return answer;
}

void world_refused(struct world *world, const char *type, json_t *payload,
                   int code)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = world->backend->request(world, type, payload, &error);

    g_assert_null(answer);
    g_assert_error(error, STEPBACK_ERROR, code);
}

int64_t world_step(struct world *world)
{
    int64_t id = world->next_id++;

    json_decref(
        world_request(world, "step.open",
                      json_pack("{s:I, s:s, s:s}", "step_id", (json_int_t)id,
                                "type", "command", "command", "test")));
    return id;
}

json_t *world_close_step(struct world *world)
{
    return world_request(world, "step.close",
                         json_pack("{s:I, s:i, s:i}", "step_id",
                                   (json_int_t)world->next_id - 1, "exit_code",
                                   0, "quiet_ms", 0));
}

json_t *world_undo(struct world *world, unsigned steps)
{
    return world_request(world, "rollback",
                         json_pack("{s:i}", "steps", (int)steps));
}

json_t *world_redo(struct world *world, unsigned steps)
{
    return world_request(world, "redo",
                         json_pack("{s:i}", "steps", (int)steps));
}

void world_end_step(struct world *world)
{
    json_decref(world_close_step(world));
}

guint world_history_count(struct world *world)
{
    json_t *answer = world_request(world, "history", NULL);
    guint count = (guint)json_array_size(json_object_get(answer, "steps"));

    json_decref(answer);
    return count;
}

/* ---- snapshots ----------------------------------------------------------- */

GPtrArray *world_snapshot(struct world *world)
{
    g_autofree char *trouble = NULL;
    GPtrArray *lines = oracle_snapshot(world->share, &trouble);

    if (!lines)
        g_error("snapshot: %s", trouble);
    return lines;
}

void world_assert_equal(struct world *world, GPtrArray *before)
{
    g_autoptr(GPtrArray) now = world_snapshot(world);
    g_autofree char *diff = oracle_diff(before, now);

    if (diff) {
        g_test_message("the tree differs (- before, + now):\n%s", diff);
        g_test_fail();
    }
}

void world_undo_to(struct world *world, unsigned steps, GPtrArray *wanted)
{
    json_decref(world_undo(world, steps));
    world_assert_equal(world, wanted);
}

void world_redo_to(struct world *world, unsigned steps, GPtrArray *wanted)
{
    json_decref(world_redo(world, steps));
    world_assert_equal(world, wanted);
}

void world_assert_changed(struct world *world, GPtrArray *before)
{
    g_autoptr(GPtrArray) now = world_snapshot(world);
    g_autofree char *diff = oracle_diff(before, now);

    g_assert_nonnull(diff);
}

char *world_host_path(struct world *world, const char *path)
{
    return g_build_filename(world->share, path, NULL);
}

char *world_read(struct world *world, const char *path)
{
    g_autofree char *full = world_host_path(world, path);
    char *text = NULL;

    g_file_get_contents(full, &text, NULL, NULL);
    return text;
}

void world_host_file(struct world *world, const char *path, const char *text)
{
    g_autofree char *full = world_host_path(world, path);

    g_assert_true(g_file_set_contents_full(
        full, text, -1, G_FILE_SET_CONTENTS_NONE, 0644, NULL));
}

void world_host_dir(struct world *world, const char *path)
{
    g_autofree char *full = world_host_path(world, path);

    g_assert_cmpint(g_mkdir_with_parents(full, 0755), ==, 0);
}

static gboolean list_has(json_t *list, const char *path)
{
    json_t *member;
    size_t i;

    json_array_foreach(list, i, member)
    {
        if (g_strcmp0(json_string_value(member), path) == 0)
            return TRUE;
    }
    return FALSE;
}

void world_assert_affected(json_t *report, ...)
{
    json_t *list = json_object_get(report, "affected_paths");
    char *shown = json_dumps(list, JSON_COMPACT);
    const char *path;
    size_t count = 0;
    va_list args;

    g_test_message("affected: %s", shown);
    free(shown);
    va_start(args, report);
    while ((path = va_arg(args, const char *))) {
        g_assert_true(list_has(list, path));
        count++;
    }
    va_end(args);
    g_assert_cmpuint(json_array_size(list), ==, count);
}
