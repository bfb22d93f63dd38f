/* SPDX-License-Identifier: Apache-2.0
 *
 * edits - see edits.h.
 */
#include "tests/lib/edits.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/lib/oracle.h"

/* ---- steps --------------------------------------------------------------- */

void edits_client_put(struct edits *f, const char *path, int flags,
                      const char *text)
{
    g_assert_cmpint(
        f->w->backend->put(f->w, path, flags, text, strlen(text), 0), ==, 0);
}

void edits_client_mkdir(struct edits *f, const char *path)
{
    g_assert_cmpint(f->w->backend->mkdir(f->w, path, 0755), ==, 0);
}

void edits_client_step(struct edits *f, const char *path, const char *text)
{
    world_step(f->w);
    edits_client_put(f, path, O_CREAT, text);
    world_end_step(f->w);
}

json_t *edits_undo_payload(bool force)
{
    return json_pack("{s:i, s:b}", "steps", 1, "force", force);
}

bool edits_has_path(json_t *list, const char *path)
{
    json_t *member;
    size_t i;

    json_array_foreach(list, i, member)
    {
        if (g_strcmp0(json_string_value(member), path) == 0)
            return true;
    }
    return false;
}

void edits_refused(struct edits *f, const char *path)
{
    g_autoptr(GPtrArray) now = world_snapshot(f->w);
    json_t *data;
    char *shown;

    world_refused(f->w, "rollback", edits_undo_payload(false),
                  ERROR_UNDO_BARRIER);
    data = f->w->backend->error_data(f->w);
    shown = json_dumps(data, JSON_COMPACT);
    g_test_message("%s", shown ? shown : "no data");
    free(shown);
    g_assert_true(edits_has_path(json_object_get(data, "paths"), path));
    g_assert_cmpuint(json_array_size(json_object_get(data, "barriers")), >, 0);
    world_assert_equal(f->w, now);
}

bool edits_warns(json_t *answer, const char *text)
{
    json_t *warning;
    size_t i;

    json_array_foreach(json_object_get(answer, "warnings"), i, warning)
    {
        g_test_message("warning: %s", json_string_value(warning));
        if (strstr(json_string_value(warning), text))
            return true;
    }
    return false;
}

void edits_forced(struct edits *f, const char *path)
{
    json_t *answer = world_request(f->w, "rollback", edits_undo_payload(true));

    g_assert_cmpuint(json_array_size(json_object_get(answer, "steps")), ==, 1);
    g_assert_true(edits_warns(answer, path));
    json_decref(answer);
}

void edits_undone(struct edits *f)
{
    json_decref(world_undo(f->w, 1));
}

/* ---- outside edits ------------------------------------------------------- */

void edits_write(struct edits *f, const char *path, const char *text)
{
    g_autofree char *full = world_host_path(f->w, path);
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, text, strlen(text)), ==, (ssize_t)strlen(text));
    close(fd);
}

/* Save as editors do. */
void edits_replace(struct edits *f, const char *path, const char *text)
{
    g_autofree char *full = world_host_path(f->w, path);
    g_autofree char *other = g_strconcat(path, ".tmp", NULL);
    g_autofree char *full_other = world_host_path(f->w, other);

    edits_write(f, other, text);
    g_assert_cmpint(rename(full_other, full), ==, 0);
}

void edits_remove(struct edits *f, const char *path)
{
    g_autofree char *full = world_host_path(f->w, path);

    g_assert_cmpint(remove(full), ==, 0);
}

void edits_chmod(struct edits *f, const char *path, mode_t mode)
{
    g_autofree char *full = world_host_path(f->w, path);

    g_assert_cmpint(chmod(full, mode), ==, 0);
}

void edits_assert_text(struct edits *f, const char *path, const char *text)
{
    g_autofree char *found = world_read(f->w, path);

    g_assert_cmpstr(found, ==, text);
}

/* Return whether the watcher sees what this process does. */
bool edits_is_watched(struct edits *f)
{
    return f->w->backend == &world_mount || f->w->backend == &world_9p;
}

/* ---- barriers ------------------------------------------------------------ */

/* Run a command in the folder, in another process. */
void edits_shell(struct edits *f, const char *command)
{
    const char *argv[] = { "/bin/sh", "-c", command, NULL };
    g_autoptr(GError) error = NULL;
    int status;

    g_spawn_sync(f->w->share, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                 NULL, NULL, &status, &error);
    g_assert_no_error(error);
    g_assert_cmpint(status, ==, 0);
}

void edits_host_mkdir(struct edits *f, const char *path)
{
    g_autofree char *full = world_host_path(f->w, path);

    g_assert_cmpint(mkdir(full, 0755), ==, 0);
}

/* Return a new array of the history's barriers. */
json_t *edits_barriers(struct edits *f)
{
    json_t *answer = world_request(f->w, "history", NULL);
    json_t *list = json_incref(json_object_get(answer, "barriers"));
    char *shown = json_dumps(list, JSON_COMPACT);

    g_test_message("barriers: %s", shown);
    free(shown);
    json_decref(answer);
    return list;
}

/* Have all changes so far recorded. */
void edits_barriers_seen(struct edits *f)
{
    json_decref(edits_barriers(f));
}

void edits_no_barrier(struct edits *f)
{
    json_t *list = edits_barriers(f);

    g_assert_cmpuint(json_array_size(list), ==, 0);
    json_decref(list);
}

/* Assert that some barrier names the path. */
void edits_has_barrier(struct edits *f, const char *path)
{
    json_t *list = edits_barriers(f), *barrier;
    bool found = false;
    size_t i;

    json_array_foreach(list, i, barrier)
    {
        found = found ||
                edits_has_path(json_object_get(barrier, "paths"), path);
    }
    g_assert_true(found);
    json_decref(list);
}

void edits_one_barrier(struct edits *f, const char *path)
{
    json_t *list = edits_barriers(f);

    g_assert_cmpuint(json_array_size(list), ==, 1);
    g_assert_true(edits_has_path(
        json_object_get(json_array_get(list, 0), "paths"), path));
    json_decref(list);
}

void edits_goes(struct edits *f, const char *request, int steps,
                const char *path)
{
    json_t *answer = world_request(f->w, request,
                                   json_pack("{s:i}", "steps", steps));

    g_assert_true(edits_warns(answer, path));
    g_assert_cmpuint(json_array_size(json_object_get(answer, "barriers")), ==,
                     0);
    json_decref(answer);
}

/* What is created and removed again leaves nothing that a comparison could
 * find. */
void edits_make_and_edit(struct edits *f, const char *dir)
{
    g_autofree char *command = g_strdup_printf("echo > %s/x; rm %s/x", dir,
                                               dir);

    world_step(f->w);
    g_assert_cmpint(f->w->backend->mkdir(f->w, dir, 0755), ==, 0);
    world_end_step(f->w);
    edits_barriers_seen(f);
    edits_shell(f, command);
    edits_barriers_seen(f);
}

/* ---- table of cases ------------------------------------------------------ */

struct test {
    const struct world_backend *backend;
    void (*run)(struct edits *f);
};

static void run_case(gconstpointer data)
{
    const struct test *test = data;
    struct edits f = { .w = world_new(test->backend) };
    g_autofree char *from = world_host_path(f.w, "linked");
    g_autofree char *to = world_host_path(f.w, "link");

    world_host_file(f.w, "file", "old");
    world_host_file(f.w, "linked", "old");
    world_host_dir(f.w, "dir/sub");
    world_host_file(f.w, "dir/file", "old");
    world_host_file(f.w, "dir/sub/file", "old");
    world_host_file(f.w, "dir/sub/gone", "old");
    g_assert_cmpint(link(from, to), ==, 0);
    if (world_start(f.w)) {
        f.before = world_snapshot(f.w);
        test->run(&f);
        g_ptr_array_unref(f.before);
    }
    world_free(f.w);
}

void edits_add_cases(const struct edits_case *cases, size_t count)
{
    const struct world_backend *const backends[] = {
        &world_folder,
        &world_folder_copy,
        &world_mount,
        &world_9p,
    };

    for (size_t b = 0; b < G_N_ELEMENTS(backends); b++) {
        for (size_t i = 0; i < count; i++) {
            g_autofree char *path = g_strdup_printf("/%s/%s", backends[b]->name,
                                                    cases[i].name);
            struct test *test = g_new0(struct test, 1);

            test->backend = backends[b];
            test->run = cases[i].run;
            g_test_add_data_func_full(path, test, run_case, g_free);
        }
    }
}

bool edits_is_set_aside(struct edits *f, const char *text)
{
    g_autofree char *command = g_strdup_printf("grep -rqx '%s' '%s/damaged'",
                                               text, f->w->undo_dir);

    return system(command) == 0;
}

bool edits_set_attribute(struct edits *f, const char *path, const char *flag)
{
    g_autofree char *full = world_host_path(f->w, path);
    const char *argv[] = { "chattr", flag, full, NULL };
    int status = -1;

    g_spawn_sync(NULL, (char **)argv, NULL,
                 G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL,
                 NULL, NULL, &status, NULL);
    return status == 0;
}
