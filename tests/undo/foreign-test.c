/* SPDX-License-Identifier: Apache-2.0
 *
 * foreign-test - another process's files in a new directory.
 *
 * The open step has just made the directory.
 *
 * The watcher does not know such a directory yet. Changes in it are outside
 * edits nevertheless: they are reported, and undo does not treat them as the
 * step's.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/lib/edits.h"
#include "tests/lib/oracle.h"
#include "tests/undo/undo_tests.h"

/* Count the history's barriers that name the path. */
static unsigned told(struct edits *f, const char *path)
{
    json_t *answer = world_request(f->w, "history", NULL), *barrier;
    unsigned count = 0;
    size_t i;

    json_array_foreach(json_object_get(answer, "barriers"), i, barrier)
        count += edits_has_path(json_object_get(barrier, "paths"), path);
    json_decref(answer);
    return count;
}

/* ---- reported ------------------------------------------------------------ */

static void in_new_folder(struct edits *f)
{
    json_t *report, *payload;

    world_step(f->w);
    edits_client_mkdir(f, "new");
    edits_write(f, "new/mine", "precious");
    edits_client_put(f, "new/own", O_CREAT, "own");
    report = world_close_step(f->w);
    world_assert_affected(report, "new", "new/own", NULL);
    json_decref(report);
    payload = f->w->backend->wait_event(f->w, "event.external_modification");
    g_assert_true(
        edits_has_path(json_object_get(payload, "paths"), "new/mine"));
    json_decref(payload);
    g_assert_cmpuint(told(f, "new/mine"), >=, 1);
    edits_refused(f, "new/mine");
    edits_assert_text(f, "new/mine", "precious");
    edits_forced(f, "new/mine");
    world_assert_equal(f->w, f->before);
}

/* Also by comparison: for example, if no barrier is in the way. */
static void compared(struct edits *f)
{
    json_t *answer;

    world_step(f->w);
    json_decref(world_request(
        f->w, "configure",
        json_pack("{s:s}", "external_modification_policy", "warn")));
    edits_client_mkdir(f, "new");
    edits_write(f, "new/mine", "precious");
    world_end_step(f->w);
    g_assert_cmpuint(told(f, "new/mine"), ==, 0);
    json_decref(world_request(
        f->w, "configure",
        json_pack("{s:s}", "external_modification_policy", "barrier")));
    edits_refused(f, "new/mine");
    answer = world_request(f->w, "rollback", edits_undo_payload(true));
    g_assert_true(edits_warns(answer, "new/mine"));
    json_decref(answer);
}

/* Of a foreign directory only the directory itself is reported. */
static void deep(struct edits *f)
{
    world_step(f->w);
    edits_client_mkdir(f, "new");
    edits_client_mkdir(f, "new/a");
    edits_client_mkdir(f, "new/a/b");
    edits_write(f, "new/a/b/mine", "precious");
    edits_host_mkdir(f, "new/theirs");
    edits_write(f, "new/theirs/mine", "precious");
    world_end_step(f->w);
    edits_refused(f, "new/a/b/mine");
    edits_refused(f, "new/theirs");
    g_assert_cmpuint(told(f, "new/a"), ==, 0);
}

/* At a name that the step had made and removed. */
static void at_a_name(struct edits *f)
{
    world_step(f->w);
    edits_client_put(f, "new", O_CREAT, "own");
    g_assert_cmpint(f->w->backend->unlink(f->w, "new"), ==, 0);
    g_assert_cmpint(f->w->backend->unlink(f->w, "file"), ==, 0);
    edits_write(f, "new", "precious");
    edits_write(f, "file", "precious");
    world_end_step(f->w);
    edits_refused(f, "new");
    edits_refused(f, "file");
}

/* Changes by the step do not make the file the step's. If the log cannot keep
 * the file, the step cannot change it: no record leads into a directory that
 * the step made. */
static void touched(struct edits *f)
{
    int rc;

    world_step(f->w);
    edits_client_mkdir(f, "new");
    edits_write(f, "new/mine", "precious");
    edits_write(f, "new/yours", "precious");
    rc = f->w->backend->put(f->w, "new/mine", 0, "changed!", 8, 0);
    g_assert_cmpint(rc, ==, f->w->backend->log_elsewhere ? -ESTALE : 0);
    g_assert_cmpint(f->w->backend->rename(f->w, "new/yours", "moved", 0), ==,
                    0);
    world_end_step(f->w);
    edits_refused(f, "new/mine");
    edits_refused(f, "moved");
}

/* Some file systems reuse the number of a removed inode at once. */
static void number_used_again(struct edits *f)
{
    const struct world_backend *b = f->w->backend;
    void *handle;

    world_step(f->w);
    edits_client_mkdir(f, "new");
    edits_client_put(f, "new/own", O_CREAT, "own");
    g_assert_cmpint(b->unlink(f->w, "new/own"), ==, 0);
    edits_write(f, "new/mine", "precious");
    edits_client_mkdir(f, "new/dir");
    g_assert_cmpint(b->rmdir(f->w, "new/dir"), ==, 0);
    edits_host_mkdir(f, "new/theirs");
    handle = b->tmpfile ? b->tmpfile(f->w, "new", O_RDWR) : NULL;
    if (handle)
        b->close(f->w, handle);
    edits_write(f, "new/third", "precious");
    world_end_step(f->w);
    edits_refused(f, "new/mine");
    edits_refused(f, "new/theirs");
    edits_refused(f, "new/third");
}

/* Outside any step, too. */
static void ambient(struct edits *f)
{
    edits_client_mkdir(f, "new");
    edits_write(f, "new/mine", "precious");
    world_step(f->w);
    world_end_step(f->w);
    edits_refused(f, "new/mine");
}

/* ---- rolled back without asking ------------------------------------------ */

/* Assert that it is out of the folder, kept, and reported. */
static void assert_kept(struct edits *f, const char *text)
{
    json_t *warning = f->w->backend->wait_event(f->w, "event.warning");
    const char *message = json_string_value(
        json_object_get(warning, "message"));

    g_test_message("warning: %s", message);
    world_assert_equal(f->w, f->before);
    g_assert_nonnull(strstr(message, "/damaged/"));
    g_assert_true(edits_is_set_aside(f, text));
    json_decref(warning);
}

static void aborted(struct edits *f)
{
    int64_t id = world_step(f->w);

    edits_client_mkdir(f, "new");
    edits_write(f, "new/mine", "precious");
    json_decref(world_request(f->w, "step.abort",
                              json_pack("{s:I}", "step_id", (json_int_t)id)));
    assert_kept(f, "precious");
}

/* After a kill only the history is known. */
static void killed(struct edits *f)
{
    world_step(f->w);
    edits_client_mkdir(f, "new");
    told(f, "new"); /* takes in pending events: the folder is watched by now */
    edits_write(f, "new/mine", "precious");
    if (!edits_is_watched(f)) {
        g_test_skip("the watcher takes us for the engine");
        return;
    }
    g_assert_cmpuint(told(f, "new/mine"), ==, 1);
    f->w->backend->kill(f->w);
    g_assert_true(world_start(f->w));
    world_assert_equal(f->w, f->before);
    g_assert_true(edits_is_set_aside(f, "precious"));
}

/* The log keeps one name of a file, and another process writes to it under a
 * different one. */
static void killed_linked(struct edits *f)
{
    world_step(f->w);
    edits_client_put(f, "linked", 0, "of the step");
    g_assert_cmpint(f->w->backend->unlink(f->w, "link"), ==, 0);
    edits_client_mkdir(f, "new");
    told(f, "new"); /* takes in pending events: the folder is watched by now */
    edits_write(f, "linked", "precious");
    if (!edits_is_watched(f)) {
        g_test_skip("the watcher takes us for the engine");
        return;
    }
    told(f, "linked");
    f->w->backend->kill(f->w);
    g_assert_true(world_start(f->w));
    world_assert_equal(f->w, f->before);
    g_assert_true(edits_is_set_aside(f, "precious"));
}

static void deny(struct edits *f, int64_t id)
{
    json_decref(world_request(f->w, "step.abort",
                              json_pack("{s:I}", "step_id", (json_int_t)id)));
}

static void set_policy(struct edits *f, const char *policy)
{
    json_decref(world_request(
        f->w, "configure",
        json_pack("{s:s}", "external_modification_policy", policy)));
}

/* What another process writes into a file of the step is undone, but copied
 * first. */
static void written_into(struct edits *f, const char *policy)
{
    int64_t id;

    if (!edits_is_watched(f)) {
        g_test_skip("the watcher takes us for the engine");
        return;
    }
    set_policy(f, policy);
    id = world_step(f->w);
    edits_client_put(f, "dir/file", 0, "of the step");
    edits_client_put(f, "file", 0, "of the step");
    edits_client_mkdir(f, "new");
    told(f, "new"); /* takes in pending events: the folder is watched by now */
    edits_write(f, "file", "precious");
    edits_write(f, "new/mine", "another");
    deny(f, id);
    world_assert_equal(f->w, f->before);
    g_assert_true(edits_is_set_aside(f, "precious"));
    g_assert_true(f->w->backend->log_elsewhere ||
                  edits_is_set_aside(f, "another"));
    g_assert_false(edits_is_set_aside(f, "of the step"));
}

static void written_into_watched(struct edits *f)
{
    written_into(f, "barrier");
}

static void written_into_warned(struct edits *f)
{
    written_into(f, "warn");
}

/* A barrier of many edits does not list them all. */
static void many(struct edits *f)
{
    int64_t id;

    if (!edits_is_watched(f)) {
        g_test_skip("the watcher takes us for the engine");
        return;
    }
    id = world_step(f->w);
    edits_client_put(f, "file", 0, "of the step");
    told(f, "new");
    for (int i = 0; i < 150; i++) {
        g_autofree char *name = g_strdup_printf("n%d", i);

        edits_write(f, name, "one of many");
    }
    edits_write(f, "file", "precious");
    deny(f, id);
    g_assert_true(edits_is_set_aside(f, "precious"));
}

/* While a rollback that cannot be completed waits. */
static void between_two_tries(struct edits *f)
{
    if (!edits_is_watched(f)) {
        g_test_skip("the watcher takes us for the engine");
        return;
    }
    world_step(f->w);
    edits_client_put(f, "file", 0, "of the step");
    edits_client_put(f, "dir/file", 0, "of the step");
    world_end_step(f->w);
    if (!edits_set_attribute(f, "dir/file", "+i")) {
        g_test_skip("no file can be made immutable here");
        return;
    }
    /* Setting the attribute is an edit itself. */
    world_refused(f->w, "rollback", edits_undo_payload(true), ERROR_IO_ERROR);
    edits_write(f, "file", "precious");
    told(f, "file"); /* takes in pending events */
    g_assert_true(edits_set_attribute(f, "dir/file", "-i"));
    json_decref(world_request(f->w, "rollback", edits_undo_payload(false)));
    world_assert_equal(f->w, f->before);
    g_assert_true(edits_is_set_aside(f, "precious"));
}

/* ---- not reported -------------------------------------------------------- */

static void make_kinds(struct edits *f)
{
    const struct world_backend *b = f->w->backend;

    edits_client_mkdir(f, "new");
    edits_client_mkdir(f, "new/sub");
    edits_client_put(f, "new/own", O_CREAT, "own");
    g_assert_cmpint(b->mknod(f->w, "new/fifo", S_IFIFO | 0600, 0), ==, 0);
    g_assert_cmpint(b->symlink(f->w, "own", "new/symlink"), ==, 0);
    g_assert_cmpint(b->link(f->w, "new/own", "new/sub/again"), ==, 0);
    g_assert_cmpint(b->link(f->w, "linked", "new/sub/old"), ==, 0);
    g_assert_cmpint(b->rename(f->w, "dir/sub", "new/sub/moved", 0), ==, 0);
    g_assert_cmpint(b->rename(f->w, "new/own", "new/sub/own", 0), ==, 0);
    g_assert_cmpint(b->unlink(f->w, "new/sub/again"), ==, 0);
    g_assert_cmpint(b->rename(f->w, "file", "new/sub/own", 0), ==, 0);
    g_assert_cmpint(b->rename(f->w, "new/sub", "dir/sub", 0), ==, 0);
    g_assert_cmpint(b->rename(f->w, "new/fifo", "file", 0), ==, 0);
}

/* The step's own changes of any kind. */
static void own(struct edits *f)
{
    const struct world_backend *b = f->w->backend;
    void *handle;

    world_step(f->w);
    make_kinds(f);
    for (unsigned i = 0; i < 20; i++) {
        edits_client_put(f, "new/one", O_CREAT, "one");
        edits_client_put(f, "new/two", O_CREAT, "two");
        g_assert_cmpint(b->rename(f->w, "new/one", "new/two", 0), ==, 0);
        g_assert_cmpint(b->unlink(f->w, "new/two"), ==, 0);
    }
    edits_client_put(f, "new/last", O_CREAT, "last");
    handle = b->tmpfile ? b->tmpfile(f->w, "new", O_RDWR) : NULL;
    if (handle) {
        g_assert_cmpint(b->write(f->w, handle, "text", 4, 0), ==, 0);
        g_assert_cmpint(b->handle_link(f->w, handle, "new/named"), ==, 0);
        g_assert_cmpint(b->write(f->w, handle, "more", 4, 4), ==, 0);
        b->close(f->w, handle);
    }
    world_end_step(f->w);
    edits_undone(f);
    world_assert_equal(f->w, f->before);
}

/* A file that the client made outside any step, and still has open. */
static void own_in_next_step(struct edits *f)
{
    const struct world_backend *b = f->w->backend;
    void *handle = b->tmpfile ? b->tmpfile(f->w, "dir", O_RDWR) : NULL;

    world_step(f->w);
    edits_client_mkdir(f, "new");
    if (handle) {
        g_assert_cmpint(b->handle_link(f->w, handle, "new/named"), ==, 0);
        b->close(f->w, handle);
    }
    world_end_step(f->w);
    edits_undone(f);
    world_assert_equal(f->w, f->before);
}

/* ---- table of cases ------------------------------------------------------ */

static const struct edits_case cases[] = {
    { "foreign/in-new-folder", in_new_folder },
    { "foreign/found-by-comparison", compared },
    { "foreign/only-top-directory-is-reported", deep },
    { "foreign/at-a-name-of-the-step", at_a_name },
    { "foreign/stays-foreign-when-changed", touched },
    { "foreign/number-is-reused", number_used_again },
    { "foreign/ambient", ambient },
    { "foreign/aborted", aborted },
    { "foreign/killed", killed },
    { "foreign/killed-linked", killed_linked },
    { "foreign/written-into", written_into_watched },
    { "foreign/written-into-warned", written_into_warned },
    { "foreign/many-are-summarized", many },
    { "foreign/between-two-tries", between_two_tries },
    { "foreign/own-changes-are-not", own },
    { "foreign/own-file-in-next-step-is-not", own_in_next_step },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    edits_add_cases(cases, G_N_ELEMENTS(cases));
    add_foreign_work_tests();
    add_other_folder_tests();
    add_overlap_tests();
    return g_test_run();
}
