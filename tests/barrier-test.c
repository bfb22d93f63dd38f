/* SPDX-License-Identifier: Apache-2.0
 *
 * barrier-test - edits from outside, and what a rollback makes of them.
 *
 * "Outside" is this process, which changes the folder by system calls. Where
 * it also runs the engine, the watcher takes it for the engine: so in these
 * worlds comparing must find everything. Under a mount the daemon's watcher
 * sees it as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "interceptor/watch_parts.h"
#include "tests/oracle.h"
#include "tests/world.h"

struct fixture {
    struct world *w;
    GPtrArray *before; /* the tree at the start */
};

/* ---- steps --------------------------------------------------------------- */

static void put(struct fixture *f, const char *path, int flags,
                const char *text)
{
    g_assert_cmpint(
        f->w->backend->put(f->w, path, flags, text, strlen(text), 0), ==, 0);
}

/* A step that writes a text into one file. */
static void write_step(struct fixture *f, const char *path, const char *text)
{
    int64_t id = world_step(f->w);

    put(f, path, O_CREAT, text);
    json_decref(world_close_step(f->w, id));
}

static json_t *undo_payload(bool force)
{
    return json_pack("{s:i, s:b}", "steps", 1, "force", force);
}

static bool has_path(json_t *list, const char *path)
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

/* Undo is refused because of this path, and changes nothing. */
static void refused(struct fixture *f, const char *path)
{
    g_autoptr(GPtrArray) now = world_snapshot(f->w);
    json_t *data;
    char *shown;

    world_refused(f->w, "rollback", undo_payload(false), ERROR_UNDO_BARRIER);
    data = f->w->backend->error_data(f->w);
    shown = json_dumps(data, JSON_COMPACT);
    g_test_message("%s", shown ? shown : "no data");
    free(shown);
    g_assert_true(has_path(json_object_get(data, "paths"), path));
    g_assert_cmpuint(json_array_size(json_object_get(data, "barriers")), >, 0);
    world_assert_equal(f->w, now);
}

/* A warning of the answer has this text in it. */
static bool warns(json_t *answer, const char *text)
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

/* With force it goes on, and the warnings name the path. */
static void forced(struct fixture *f, const char *path)
{
    json_t *answer = world_request(f->w, "rollback", undo_payload(true));

    g_assert_cmpuint(json_array_size(json_object_get(answer, "steps")), ==, 1);
    g_assert_true(warns(answer, path));
    json_decref(answer);
}

static void undone(struct fixture *f)
{
    json_decref(world_undo(f->w, 1));
}

/* ---- outside ------------------------------------------------------------- */

static void outside_write(struct fixture *f, const char *path, const char *text)
{
    g_autofree char *full = world_host_path(f->w, path);
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, text, strlen(text)), ==, (ssize_t)strlen(text));
    close(fd);
}

/* As editors save. */
static void outside_replace(struct fixture *f, const char *path,
                            const char *text)
{
    g_autofree char *full = world_host_path(f->w, path);
    g_autofree char *other = g_strconcat(path, ".tmp", NULL);
    g_autofree char *full_other = world_host_path(f->w, other);

    outside_write(f, other, text);
    g_assert_cmpint(rename(full_other, full), ==, 0);
}

static void outside_remove(struct fixture *f, const char *path)
{
    g_autofree char *full = world_host_path(f->w, path);

    g_assert_cmpint(remove(full), ==, 0);
}

static void outside_chmod(struct fixture *f, const char *path, mode_t mode)
{
    g_autofree char *full = world_host_path(f->w, path);

    g_assert_cmpint(chmod(full, mode), ==, 0);
}

static void assert_text(struct fixture *f, const char *path, const char *text)
{
    g_autofree char *found = world_read(f->w, path);

    g_assert_cmpstr(found, ==, text);
}

/* Does the watcher see what this process does? */
static bool is_watched(struct fixture *f)
{
    return f->w->backend == &world_mount;
}

/* ---- what a step touched was edited -------------------------------------- */

static void same_bytes(struct fixture *f)
{
    write_step(f, "file", "new");
    outside_write(f, "file", "new");
    refused(f, "file");
    forced(f, "file");
    assert_text(f, "file", "old");
}

/* Neither size nor mtime tell. */
static void same_times(struct fixture *f)
{
    g_autofree char *full = world_host_path(f->w, "file");
    struct timespec times[2];
    struct stat st;

    write_step(f, "file", "new");
    g_assert_cmpint(stat(full, &st), ==, 0);
    outside_write(f, "file", "NEW");
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    g_assert_cmpint(utimensat(AT_FDCWD, full, times, 0), ==, 0);
    refused(f, "file");
    forced(f, "file");
    assert_text(f, "file", "old");
}

/* What replaced the file was never the step's: it stays. */
static void replaced(struct fixture *f)
{
    write_step(f, "file", "new");
    outside_replace(f, "file", "mine");
    refused(f, "file");
    forced(f, "file");
    assert_text(f, "file", "mine");
    write_step(f, "other", "the engine works on");
}

static void removed(struct fixture *f)
{
    int64_t id = world_step(f->w);

    put(f, "file", 0, "new");
    put(f, "created", O_CREAT, "new");
    json_decref(world_close_step(f->w, id));
    outside_remove(f, "created");
    outside_remove(f, "file");
    refused(f, "created");
    refused(f, "file");
    forced(f, "file");
    assert_text(f, "file", NULL);
    assert_text(f, "created", NULL);
}

static void removed_folder(struct fixture *f)
{
    int64_t id = world_step(f->w);

    put(f, "dir/sub/file", 0, "new");
    g_assert_cmpint(f->w->backend->unlink(f->w, "dir/sub/gone"), ==, 0);
    json_decref(world_close_step(f->w, id));
    outside_remove(f, "dir/sub/file");
    outside_remove(f, "dir/sub");
    refused(f, "dir/sub");
    forced(f, "dir/sub/file");
    /* What the log has comes back, with its folder. */
    assert_text(f, "dir/sub/gone", "old");
    assert_text(f, "dir/sub/file", NULL);
    write_step(f, "other", "the engine works on");
}

static void name_taken(struct fixture *f)
{
    int64_t id = world_step(f->w);

    g_assert_cmpint(f->w->backend->unlink(f->w, "file"), ==, 0);
    json_decref(world_close_step(f->w, id));
    outside_write(f, "file", "mine");
    refused(f, "file");
    forced(f, "file");
    world_assert_equal(f->w, f->before);
}

static void added_to_created(struct fixture *f)
{
    int64_t id = world_step(f->w);

    g_assert_cmpint(f->w->backend->mkdir(f->w, "new", 0755), ==, 0);
    put(f, "new/a", O_CREAT, "a");
    json_decref(world_close_step(f->w, id));
    outside_write(f, "new/mine", "mine");
    refused(f, "new/mine");
    forced(f, "new/mine");
    world_assert_equal(f->w, f->before);
}

static void moved_away(struct fixture *f)
{
    g_autofree char *from = world_host_path(f->w, "renamed");
    g_autofree char *to = world_host_path(f->w, "elsewhere");
    int64_t id = world_step(f->w);

    g_assert_cmpint(f->w->backend->rename(f->w, "file", "renamed", 0), ==, 0);
    json_decref(world_close_step(f->w, id));
    g_assert_cmpint(rename(from, to), ==, 0);
    refused(f, "renamed");
    forced(f, "renamed");
    assert_text(f, "file", NULL); /* nobody knows where it is */
    assert_text(f, "elsewhere", "old");
}

static void folder_mode(struct fixture *f)
{
    write_step(f, "dir/file", "new");
    outside_chmod(f, "dir", 0700);
    refused(f, "dir");
    forced(f, "dir");
}

/* An edit between two steps that both change the file. */
static void between(struct fixture *f)
{
    write_step(f, "file", "one");
    outside_write(f, "file", "mine");
    write_step(f, "file", "two");
    json_decref(world_request(f->w, "rollback", undo_payload(true)));
    assert_text(f, "file", "mine");
    refused(f, "file");
}

/* ---- what is nobody's edit ----------------------------------------------- */

/* Not what the step touched: comparing is not to complain. */
static void beside(struct fixture *f)
{
    if (is_watched(f)) {
        g_test_skip("the watcher sees it");
        return;
    }
    write_step(f, "dir/file", "new");
    outside_write(f, "dir/mine", "mine");
    outside_write(f, "other", "mine");
    undone(f);
    assert_text(f, "dir/file", "old");
    assert_text(f, "dir/mine", "mine");
    assert_text(f, "other", "mine");
}

/* Undo moves a folder back with whatever is in it by then. */
static void inside_moved(struct fixture *f)
{
    int64_t id;

    if (is_watched(f)) {
        g_test_skip("the watcher sees it");
        return;
    }
    id = world_step(f->w);
    g_assert_cmpint(f->w->backend->rename(f->w, "dir", "moved", 0), ==, 0);
    json_decref(world_close_step(f->w, id));
    outside_write(f, "moved/file", "mine");
    undone(f);
    assert_text(f, "dir/file", "mine");
}

static void own_undo(struct fixture *f)
{
    write_step(f, "file", "one");
    write_step(f, "file", "two");
    write_step(f, "dir/file", "three");
    undone(f);
    f->w->backend->stop(f->w);
    g_assert_true(world_start(f->w));
    undone(f);
    undone(f);
    world_assert_equal(f->w, f->before);
}

/* Changes the ctime, and leaves no step. */
static void own_nothing(struct fixture *f)
{
    int64_t id;

    write_step(f, "file", "one");
    id = world_step(f->w);
    g_assert_cmpint(f->w->backend->chmod(f->w, "file", 0644), ==, 0);
    json_decref(world_close_step(f->w, id));
    g_assert_cmpuint(world_history_count(f->w), ==, 1);
    undone(f);
    world_assert_equal(f->w, f->before);
}

/* The log gives up its link of a file that has another name. */
static void own_eviction(struct fixture *f)
{
    int64_t id = world_step(f->w);
    g_autoptr(GPtrArray) before = NULL;

    g_assert_cmpint(f->w->backend->unlink(f->w, "link"), ==, 0);
    json_decref(world_close_step(f->w, id));
    before = world_snapshot(f->w);
    write_step(f, "linked", "one");
    json_decref(world_request(f->w, "configure",
                              json_pack("{s:i}", "max_step_count", 1)));
    g_assert_cmpuint(world_history_count(f->w), ==, 1);
    undone(f);
    world_assert_equal(f->w, before);
}

/* A crash in the middle of undoing the newer step. */
static void own_interrupted(struct fixture *f)
{
    g_autofree char *step = g_build_filename(f->w->undo_dir, "steps", "2",
                                             NULL);
    g_autofree char *wal = g_build_filename(f->w->undo_dir, "wal",
                                            "in_progress", NULL);

    write_step(f, "file", "one");
    write_step(f, "file", "two");
    f->w->backend->stop(f->w);
    g_assert_cmpint(rename(step, wal), ==, 0);
    g_assert_true(world_start(f->w));
    assert_text(f, "file", "one");
    undone(f);
    world_assert_equal(f->w, f->before);
}

/* ---- what the watcher sees ----------------------------------------------- */

/* Another process, in the folder. */
static void shell(struct fixture *f, const char *command)
{
    const char *argv[] = { "/bin/sh", "-c", command, NULL };
    g_autoptr(GError) error = NULL;
    int status;

    g_spawn_sync(f->w->share, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                 NULL, NULL, &status, &error);
    g_assert_no_error(error);
    g_assert_cmpint(status, ==, 0);
}

/* A new array of the history's barriers. */
static json_t *barriers(struct fixture *f)
{
    json_t *answer = world_request(f->w, "history", NULL);
    json_t *list = json_incref(json_object_get(answer, "barriers"));
    char *shown = json_dumps(list, JSON_COMPACT);

    g_test_message("barriers: %s", shown);
    free(shown);
    json_decref(answer);
    return list;
}

static void no_barrier(struct fixture *f)
{
    json_t *list = barriers(f);

    g_assert_cmpuint(json_array_size(list), ==, 0);
    json_decref(list);
}

static void one_barrier(struct fixture *f, const char *path)
{
    json_t *list = barriers(f);

    g_assert_cmpuint(json_array_size(list), ==, 1);
    g_assert_true(
        has_path(json_object_get(json_array_get(list, 0), "paths"), path));
    json_decref(list);
}

static void event(struct fixture *f)
{
    json_t *payload, *pid;

    write_step(f, "file", "new");
    shell(f, "echo mine > other");
    payload = f->w->backend->wait_event(f->w, "event.external_modification");
    pid = json_object_get(payload, "pid");
    g_assert_true(has_path(json_object_get(payload, "paths"), "other"));
    g_assert_true(json_is_string(json_object_get(payload, "timestamp")));
    /* Others are told by their pid only to root. */
    if (geteuid() == 0)
        g_assert_cmpint(json_integer_value(pid), >, 0);
    json_decref(payload);
}

static void crossing(struct fixture *f)
{
    write_step(f, "file", "new");
    shell(f, "echo mine > other; mv linked moved; mkdir made");
    refused(f, "other");
    refused(f, "linked");
    refused(f, "moved");
    refused(f, "made");
    assert_text(f, "file", "new");
}

static void crossing_forced(struct fixture *f)
{
    write_step(f, "file", "new");
    shell(f, "echo mine > other");
    forced(f, "other");
    assert_text(f, "file", "old");
    assert_text(f, "other", "mine\n");
    no_barrier(f);
}

static void visible(struct fixture *f)
{
    json_t *list, *barrier;

    write_step(f, "file", "new");
    shell(f, "echo mine > other");
    list = barriers(f);
    barrier = json_array_get(list, 0);
    g_assert_cmpuint(json_array_size(list), ==, 1);
    g_assert_cmpstr(json_string_value(json_object_get(barrier, "type")), ==,
                    "barrier");
    g_assert_true(json_is_string(json_object_get(barrier, "timestamp")));
    g_assert_true(has_path(json_object_get(barrier, "paths"), "other"));
    g_assert_cmpint(json_integer_value(json_object_get(barrier, "after_step")),
                    ==, 1);
    json_decref(list);
    /* It is not forgotten. */
    f->w->backend->stop(f->w);
    g_assert_true(world_start(f->w));
    one_barrier(f, "other");
    refused(f, "other");
}

static void own_changes(struct fixture *f)
{
    const struct world_backend *b = f->w->backend;
    int64_t id = world_step(f->w);
    void *handle;

    g_assert_cmpint(b->mkdir(f->w, "new", 0755), ==, 0);
    no_barrier(f); /* takes in what has happened: it is watched by now */
    put(f, "new/a", O_CREAT, "a");
    g_assert_cmpint(b->rename(f->w, "new", "newer", 0), ==, 0);
    g_assert_cmpint(b->link(f->w, "newer/a", "newer/b"), ==, 0);
    g_assert_cmpint(b->symlink(f->w, "a", "newer/s"), ==, 0);
    g_assert_cmpint(b->chmod(f->w, "dir", 0700), ==, 0);
    g_assert_cmpint(b->truncate(f->w, "file", 1), ==, 0);
    g_assert_cmpint(b->unlink(f->w, "dir/file"), ==, 0);
    g_assert_cmpint(b->unlink(f->w, "dir/sub/file"), ==, 0);
    g_assert_cmpint(b->unlink(f->w, "dir/sub/gone"), ==, 0);
    g_assert_cmpint(b->rmdir(f->w, "dir/sub"), ==, 0);
    json_decref(world_close_step(f->w, id));
    handle = b->open(f->w, "file", O_RDWR);
    g_assert_cmpint(b->write(f->w, handle, "late", 4, 0), ==, 0);
    b->close(f->w, handle);
    no_barrier(f);
    json_decref(world_undo(f->w, 2));
    no_barrier(f);
    world_assert_equal(f->w, f->before);
}

/* Also when what can be redone is all there is. */
static void before_redo(struct fixture *f)
{
    json_t *answer;

    write_step(f, "file", "new");
    undone(f);
    shell(f, "echo mine > other");
    world_refused(f->w, "redo", undo_payload(false), ERROR_UNDO_BARRIER);
    assert_text(f, "file", "old");
    answer = world_request(f->w, "redo", undo_payload(true));
    g_assert_true(warns(answer, "other"));
    json_decref(answer);
    assert_text(f, "file", "new");
    undone(f);
    assert_text(f, "file", "old");
    assert_text(f, "other", "mine\n");
}

static void several(struct fixture *f)
{
    json_t *list;

    write_step(f, "file", "one");
    shell(f, "echo mine > first");
    write_step(f, "file", "two");
    shell(f, "echo mine > second");
    write_step(f, "file", "three");
    list = barriers(f);
    g_assert_cmpuint(json_array_size(list), ==, 2);
    json_decref(list);
    world_refused(f->w, "rollback", json_pack("{s:i}", "steps", 3),
                  ERROR_UNDO_BARRIER);
    list = json_object_get(f->w->backend->error_data(f->w), "paths");
    g_assert_true(has_path(list, "first") && has_path(list, "second"));
    assert_text(f, "file", "three");
    undone(f);
    refused(f, "second");
    forced(f, "second");
    one_barrier(f, "first");
    refused(f, "first");
    forced(f, "first");
    no_barrier(f);
}

static void overflow(struct fixture *f)
{
    struct ic *ic = f->w->backend->engine(f->w);
    json_t *list, *warning;

    if (!ic) {
        g_test_skip("the engine is in another process");
        return;
    }
    write_step(f, "file", "new");
    watch_lose(ic->watch);
    warning = f->w->backend->wait_event(f->w, "event.warning");
    json_decref(warning);
    list = barriers(f);
    g_assert_cmpuint(json_array_size(list), ==, 1);
    g_assert_cmpint(
        json_integer_value(json_object_get(json_array_get(list, 0), "more")), >,
        0);
    json_decref(list);
    world_refused(f->w, "rollback", undo_payload(false), ERROR_UNDO_BARRIER);
    /* It goes on to watch. */
    shell(f, "echo mine > other");
    refused(f, "other");
    forced(f, "not known");
}

static void policy_warn(struct fixture *f)
{
    json_t *payload, *answer;

    json_decref(world_request(
        f->w, "configure",
        json_pack("{s:s}", "external_modification_policy", "warn")));
    write_step(f, "file", "new");
    shell(f, "echo mine > other; echo mine > file");
    payload = f->w->backend->wait_event(f->w, "event.external_modification");
    g_assert_true(has_path(json_object_get(payload, "paths"), "other"));
    json_decref(payload);
    no_barrier(f);
    answer = world_undo(f->w, 1);
    g_assert_true(warns(answer, "file"));
    json_decref(answer);
    assert_text(f, "other", "mine\n");
}

static void policy_lock(struct fixture *f)
{
    world_refused(f->w, "configure",
                  json_pack("{s:s}", "external_modification_policy", "lock"),
                  ERROR_INVALID_FIELD);
    world_refused(f->w, "configure",
                  json_pack("{s:s}", "external_modification_policy", "no"),
                  ERROR_INVALID_FIELD);
}

/* A change while a step is open is in its way. */
static void during(struct fixture *f)
{
    int64_t id = world_step(f->w);

    put(f, "file", 0, "new");
    shell(f, "echo mine > file");
    put(f, "file", 0, "NEW");
    json_decref(world_close_step(f->w, id));
    refused(f, "file");
}

/* Folders that appear and move are followed. */
static void followed(struct fixture *f)
{
    const struct world_backend *b = f->w->backend;
    int64_t id = world_step(f->w);

    g_assert_cmpint(b->mkdir(f->w, "new", 0755), ==, 0);
    g_assert_cmpint(b->mkdir(f->w, "new/sub", 0755), ==, 0);
    g_assert_cmpint(b->rename(f->w, "dir", "new/moved", 0), ==, 0);
    json_decref(world_close_step(f->w, id));
    no_barrier(f);
    shell(f, "echo mine > new/moved/sub/file; echo mine > new/sub/mine");
    refused(f, "new/moved/sub/file");
    refused(f, "new/sub/mine");
}

/* What has left the share is nobody's business, until it is back. */
static void left(struct fixture *f)
{
    g_autofree char *away = g_build_filename(f->w->base, "away", NULL);
    g_autofree char *inside = world_host_path(f->w, "dir");

    g_assert_cmpint(rename(inside, away), ==, 0);
    no_barrier(f); /* there is no step */
    write_step(f, "file", "new");
    shell(f, "echo mine > ../away/file");
    no_barrier(f);
    g_assert_cmpint(rename(away, inside), ==, 0);
    write_step(f, "other", "new");
    shell(f, "echo mine > dir/sub/mine");
    refused(f, "dir/sub/mine");
}

/* The watcher that is used where the better one is not to be had. */
static void by_inotify(struct fixture *f)
{
    struct ic *ic = f->w->backend->engine(f->w);

    if (!ic) {
        g_test_skip("the engine is in another process");
        return;
    }
    watch_free(ic->watch);
    ic->watch = watch_new_from(ic, &watch_inotify);
    g_assert_nonnull(ic->watch);
    own_changes(f);
    write_step(f, "file", "new");
    g_usleep(100000); /* until nothing of ours can be meant any more */
    no_barrier(f);
    shell(f, "echo mine > dir/sub/mine");
    one_barrier(f, "dir/sub/mine");
    refused(f, "dir/sub/mine");
}

/* ---- the lot ------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(struct fixture *f);
} cases[] = {
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
    { "watch/followed", followed },
    { "watch/left-the-share", left },
    { "watch/inotify", by_inotify },
    { "verify/same-bytes", same_bytes },
    { "verify/same-times", same_times },
    { "verify/replaced", replaced },
    { "verify/removed", removed },
    { "verify/removed-folder", removed_folder },
    { "verify/name-taken", name_taken },
    { "verify/added-to-created", added_to_created },
    { "verify/moved-away", moved_away },
    { "verify/folder-mode", folder_mode },
    { "verify/between-steps", between },
    { "verify/beside", beside },
    { "verify/inside-moved", inside_moved },
    { "verify/own-undo", own_undo },
    { "verify/own-nothing", own_nothing },
    { "verify/own-eviction", own_eviction },
    { "verify/own-interrupted", own_interrupted },
};

struct test {
    const struct world_backend *backend;
    void (*run)(struct fixture *f);
};

static void run_case(gconstpointer data)
{
    const struct test *test = data;
    struct fixture f = { .w = world_new(test->backend) };
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

int main(int argc, char **argv)
{
    const struct world_backend *const backends[] = {
        &world_folder,
        &world_folder_copy,
        &world_mount,
    };

    umask(022);
    g_test_init(&argc, &argv, NULL);
    for (size_t b = 0; b < G_N_ELEMENTS(backends); b++) {
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
            g_autofree char *path = g_strdup_printf("/%s/%s", backends[b]->name,
                                                    cases[i].name);
            struct test *test = g_new0(struct test, 1);

            test->backend = backends[b];
            test->run = cases[i].run;
            g_test_add_data_func_full(path, test, run_case, g_free);
        }
    }
    return g_test_run();
}
