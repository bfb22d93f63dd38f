/* SPDX-License-Identifier: Apache-2.0
 *
 * barrier-test - outside edits that the watcher sees become barriers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "interceptor/engine/outside_note.h"
#include "interceptor/engine/watching.h"
#include "interceptor/log/barriers.h"
#include "interceptor/watch/watch_parts.h"
#include "tests/lib/edits.h"
#include "tests/lib/oracle.h"

/* ---- events of the watcher ----------------------------------------------- */

static void event(struct edits *f)
{
    json_t *payload, *pid;

    edits_client_step(f, "file", "new");
    edits_shell(f, "echo mine > other");
    payload = f->w->backend->wait_event(f->w, "event.external_modification");
    pid = json_object_get(payload, "pid");
    g_assert_true(edits_has_path(json_object_get(payload, "paths"), "other"));
    g_assert_true(json_is_string(json_object_get(payload, "timestamp")));
    /* Only root sees the pids of other processes. */
    if (geteuid() == 0)
        g_assert_cmpint(json_integer_value(pid), >, 0);
    json_decref(payload);
}

static void crossing(struct edits *f)
{
    edits_client_step(f, "dir/sub/file", "new");
    edits_shell(f, "echo mine > dir/sub/file; mv dir moved; mkdir dir");
    edits_refused(f, "dir/sub/file");
    edits_refused(f, "dir");
    edits_refused(f, "moved");
    edits_assert_text(f, "moved/sub/file", "mine\n");
}

static void crossing_forced(struct edits *f)
{
    edits_client_step(f, "file", "new");
    edits_shell(f, "echo mine > file");
    edits_forced(f, "file");
    edits_assert_text(f, "file", "old");
    edits_no_barrier(f);
}

static void visible(struct edits *f)
{
    json_t *list, *barrier;

    edits_client_step(f, "file", "new");
    edits_shell(f, "echo mine > file");
    list = edits_barriers(f);
    barrier = json_array_get(list, 0);
    g_assert_cmpuint(json_array_size(list), ==, 1);
    g_assert_cmpstr(json_string_value(json_object_get(barrier, "type")), ==,
                    "barrier");
    g_assert_true(json_is_string(json_object_get(barrier, "timestamp")));
    g_assert_true(edits_has_path(json_object_get(barrier, "paths"), "file"));
    g_assert_cmpint(json_integer_value(json_object_get(barrier, "after_step")),
                    ==, 1);
    json_decref(list);
    /* A restart keeps it. */
    f->w->backend->stop(f->w);
    g_assert_true(world_start(f->w));
    edits_one_barrier(f, "file");
    edits_refused(f, "file");
}

static void own_changes(struct edits *f)
{
    const struct world_backend *b = f->w->backend;
    void *handle;

    world_step(f->w);
    g_assert_cmpint(b->mkdir(f->w, "new", 0755), ==, 0);
    edits_no_barrier(f); /* takes in pending events: the folder is watched by
                          * now */
    edits_client_put(f, "new/a", O_CREAT, "a");
    g_assert_cmpint(b->rename(f->w, "new", "newer", 0), ==, 0);
    g_assert_cmpint(b->link(f->w, "newer/a", "newer/b"), ==, 0);
    g_assert_cmpint(b->symlink(f->w, "a", "newer/s"), ==, 0);
    g_assert_cmpint(b->chmod(f->w, "dir", 0700), ==, 0);
    g_assert_cmpint(b->truncate(f->w, "file", 1), ==, 0);
    g_assert_cmpint(b->unlink(f->w, "dir/file"), ==, 0);
    g_assert_cmpint(b->unlink(f->w, "dir/sub/file"), ==, 0);
    g_assert_cmpint(b->unlink(f->w, "dir/sub/gone"), ==, 0);
    g_assert_cmpint(b->rmdir(f->w, "dir/sub"), ==, 0);
    world_end_step(f->w);
    handle = b->open(f->w, "file", O_RDWR);
    g_assert_cmpint(b->write(f->w, handle, "late", 4, 0), ==, 0);
    b->close(f->w, handle);
    edits_no_barrier(f);
    json_decref(world_undo(f->w, 2));
    edits_no_barrier(f);
    world_assert_equal(f->w, f->before);
}

/* Also if only redos are left. */
static void before_redo(struct edits *f)
{
    json_t *answer;

    world_step(f->w);
    g_assert_cmpint(f->w->backend->mkdir(f->w, "made", 0755), ==, 0);
    world_end_step(f->w);
    edits_undone(f);
    edits_shell(f, "mkdir made; rmdir made");
    world_refused(f->w, "redo", edits_undo_payload(false), ERROR_UNDO_BARRIER);
    answer = world_request(f->w, "redo", edits_undo_payload(true));
    g_assert_true(edits_warns(answer, "made"));
    json_decref(answer);
    edits_undone(f);
    edits_no_barrier(f);
}

static void several(struct edits *f)
{
    json_t *list;

    edits_make_and_edit(f, "one");
    edits_make_and_edit(f, "two");
    edits_client_step(f, "file", "three");
    list = edits_barriers(f);
    g_assert_cmpuint(json_array_size(list), ==, 2);
    json_decref(list);
    world_refused(f->w, "rollback", json_pack("{s:i}", "steps", 3),
                  ERROR_UNDO_BARRIER);
    list = json_object_get(f->w->backend->error_data(f->w), "paths");
    g_assert_true(edits_has_path(list, "one/x") &&
                  edits_has_path(list, "two/x"));
    edits_assert_text(f, "file", "three");
    edits_undone(f);
    edits_refused(f, "two/x");
    edits_forced(f, "two/x");
    edits_one_barrier(f, "one/x");
    edits_refused(f, "one/x");
    edits_forced(f, "one/x");
    edits_no_barrier(f);
}

static void overflow(struct edits *f)
{
    struct ic *ic = f->w->backend->engine(f->w);
    json_t *list, *warning;

    if (!ic) {
        g_test_skip("the engine is in another process");
        return;
    }
    edits_client_step(f, "file", "new");
    watch_lose(ic->watch);
    warning = f->w->backend->wait_event(f->w, "event.warning");
    json_decref(warning);
    list = edits_barriers(f);
    g_assert_cmpuint(json_array_size(list), ==, 1);
    g_assert_cmpint(
        json_integer_value(json_object_get(json_array_get(list, 0), "more")), >,
        0);
    json_decref(list);
    world_refused(f->w, "rollback", edits_undo_payload(false),
                  ERROR_UNDO_BARRIER);
    /* Watching continues. */
    edits_shell(f, "echo mine > file");
    edits_refused(f, "file");
    edits_forced(f, "unknown paths");
}

static void policy_warn(struct edits *f)
{
    json_t *payload, *answer;

    json_decref(world_request(
        f->w, "configure",
        json_pack("{s:s}", "external_modification_policy", "warn")));
    edits_client_step(f, "file", "new");
    edits_shell(f, "echo mine > other; echo mine > file");
    payload = f->w->backend->wait_event(f->w, "event.external_modification");
    g_assert_true(edits_has_path(json_object_get(payload, "paths"), "other"));
    json_decref(payload);
    edits_no_barrier(f);
    answer = world_undo(f->w, 1);
    g_assert_true(edits_warns(answer, "file"));
    json_decref(answer);
    edits_assert_text(f, "other", "mine\n");
}

static void policy_lock(struct edits *f)
{
    world_refused(f->w, "configure",
                  json_pack("{s:s}", "external_modification_policy", "lock"),
                  ERROR_INVALID_FIELD);
    world_refused(f->w, "configure",
                  json_pack("{s:s}", "external_modification_policy", "no"),
                  ERROR_INVALID_FIELD);
}

/* An outside edit while a step is open is a barrier to its undo. */
static void during(struct edits *f)
{
    world_step(f->w);
    edits_client_put(f, "file", 0, "new");
    edits_shell(f, "echo mine > file");
    edits_client_put(f, "file", 0, "NEW");
    world_end_step(f->w);
    edits_refused(f, "file");
}

/* New and moved directories are watched. */
static void followed(struct edits *f)
{
    const struct world_backend *b = f->w->backend;

    world_step(f->w);
    g_assert_cmpint(b->mkdir(f->w, "new", 0755), ==, 0);
    g_assert_cmpint(b->mkdir(f->w, "new/sub", 0755), ==, 0);
    g_assert_cmpint(b->rename(f->w, "dir", "new/moved", 0), ==, 0);
    world_end_step(f->w);
    edits_no_barrier(f);
    edits_shell(f, "echo mine > new/moved/sub/file; echo mine > new/sub/mine");
    edits_refused(f, "new/moved/sub/file");
    edits_refused(f, "new/sub/mine");
}

/* Events are read late: by then the directory in which an entry had appeared
 * has another name, and another directory has its former name. */
static void overtaken(struct edits *f)
{
    const struct world_backend *b = f->w->backend;

    world_step(f->w);
    for (int i = 0; i < 20; i++) {
        g_autofree char *old = g_strdup_printf("old%d", i);

        g_assert_cmpint(b->mkdir(f->w, old, 0755), ==, 0);
    }
    world_history_count(f->w); /* until here all is known */
    for (int i = 0; i < 20; i++) {
        g_autofree char *old = g_strdup_printf("old%d", i);
        g_autofree char *new = g_strdup_printf("new%d", i);
        g_autofree char *sub = g_strdup_printf("old%d/sub", i);

        g_assert_cmpint(b->mkdir(f->w, sub, 0755), ==, 0);
        g_assert_cmpint(b->rename(f->w, old, new, 0), ==, 0);
        g_assert_cmpint(b->mkdir(f->w, old, 0755), ==, 0);
        g_assert_cmpint(b->mkdir(f->w, sub, 0755), ==, 0);
    }
    world_end_step(f->w);
    edits_no_barrier(f);
    for (int i = 0; i < 20; i++) {
        g_autofree char *old = g_strdup_printf("old%d/sub/mine", i);
        g_autofree char *new = g_strdup_printf("new%d/sub/mine", i);

        edits_write(f, old, "mine");
        edits_write(f, new, "mine");
        edits_refused(f, old);
        edits_refused(f, new);
    }
}

/* Edits of what was moved out of the share do not count until it is back. */
static void left(struct edits *f)
{
    g_autofree char *away = g_build_filename(f->w->base, "away", NULL);
    g_autofree char *inside = world_host_path(f->w, "dir");

    g_assert_cmpint(rename(inside, away), ==, 0);
    edits_no_barrier(f); /* there is no step */
    edits_client_step(f, "file", "new");
    edits_shell(f, "echo mine > ../away/file");
    edits_no_barrier(f);
    g_assert_cmpint(rename(away, inside), ==, 0);
    edits_client_step(f, "other", "new");
    edits_shell(f, "echo mine > dir/sub/mine");
    edits_has_barrier(f, "dir/sub/mine");
}

static struct watch *watch_by_inotify(struct ic *ic)
{
    const struct watch_host host = watching_host(ic);

    return watch_new_from(&host, &watch_inotify);
}

/* The watcher that is used if fanotify is unavailable. */
static void by_inotify(struct edits *f)
{
    struct ic *ic = f->w->backend->engine(f->w);

    if (!ic) {
        g_test_skip("the engine is in another process");
        return;
    }
    watch_free(ic->watch);
    ic->watch = watch_by_inotify(ic);
    g_assert_nonnull(ic->watch);
    own_changes(f);
    edits_client_step(f, "file", "new");
    g_usleep(100000); /* until no event can be taken for the engine's own */
    edits_no_barrier(f);
    edits_shell(f, "echo mine > dir/sub/mine");
    edits_one_barrier(f, "dir/sub/mine");
    edits_goes(f, "rollback", 1, "dir/sub/mine");
}

/* A client may close a file long after writing it. */
static void late_close(struct edits *f)
{
    const struct world_backend *b = f->w->backend;
    struct ic *ic = b->engine(f->w);
    void *handle;

    if (!ic) {
        g_test_skip("the engine is in another process");
        return;
    }
    watch_free(ic->watch);
    ic->watch = watch_by_inotify(ic);
    world_step(f->w);
    handle = b->open(f->w, "file", O_RDWR);
    g_assert_cmpint(b->write(f->w, handle, "new", 3, 0), ==, 0);
    world_end_step(f->w);
    g_usleep(100000); /* until no event can be taken for the engine's own */
    edits_no_barrier(f);
    b->close(f->w, handle);
    edits_no_barrier(f);
    /* Another process's close counts. */
    edits_shell(f, "exec 3<>file; echo mine >&3");
    edits_one_barrier(f, "file");
    edits_refused(f, "file");
}

/* ---- table of cases ------------------------------------------------------ */

static const struct edits_case cases[] = {
    { "EB-01/event", event },
    { "EB-02/refused", crossing },
    { "EB-03/forced", crossing_forced },
    { "EB-04/history", visible },
    { "EB-05/own-changes", own_changes },
    { "EB-06/several", several },
    { "EB-06/before-redo", before_redo },
    { "EB-07/overflow", overflow },
    { "EB-08/warn", policy_warn },
    { "EB-09/lock", policy_lock },
    { "watch/during-a-step", during },
    { "watch/new-directories-are-watched", followed },
    { "watch/renamed-before-it-was-read", overtaken },
    { "watch/left-the-share", left },
    { "watch/inotify", by_inotify },
    { "watch/late-close", late_close },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    edits_add_cases(cases, G_N_ELEMENTS(cases));
    return g_test_run();
}
