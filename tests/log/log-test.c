/* SPDX-License-Identifier: Apache-2.0
 *
 * log-test - the undo log on disk: records, versions, incomplete logs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "interceptor/log/step.h"
#include "interceptor/log/undo_log.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/sys/sys.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

/* ---- common -------------------------------------------------------------- */

static char *log_path(struct world *w, const char *path)
{
    return g_build_filename(w->undo_dir, path, NULL);
}

static bool log_has(struct world *w, const char *path)
{
    g_autofree char *full = log_path(w, path);
    struct stat st;

    return lstat(full, &st) == 0;
}

static void write_log(struct world *w, const char *path, const char *text)
{
    g_autofree char *full = log_path(w, path);

    g_assert_true(g_file_set_contents(full, text, -1, NULL));
}

static void set_text(struct world *w, const char *path, const char *text)
{
    OK(w->backend->put(w, path, O_TRUNC, text, strlen(text), 0));
}

static void text_step(struct world *w, const char *text)
{
    world_step(w);
    set_text(w, "file", text);
    world_end_step(w);
}

static struct world *start_world(gconstpointer backend)
{
    struct world *w = world_new(backend);

    world_host_file(w, "file", "content");
    world_host_file(w, "other", "more content");
    world_host_dir(w, "dir");
    if (world_start(w))
        return w;
    world_free(w);
    return NULL;
}

static void restart(struct world *w)
{
    if (w->state)
        w->backend->stop(w);
    world_start(w);
}

static void rollback_refused(struct world *w, int steps, bool force, int code)
{
    world_refused(w, "rollback",
                  json_pack("{s:i, s:b}", "steps", steps, "force", force),
                  code);
}

/* ---- records ------------------------------------------------------------- */

static const char *const odd_names[] = {
    "a",
    " ",
    "new\nline",
    "quote\"back\\slash",
    "\xff\xfe\x80 not UTF-8",
    "caf\xc3\xa9",
    "tab\t\x01\x1f\x7f",
    "..a",
    "...",
    "-rf",
    "{\"t\":\"b\"}",
};

static struct meta *some_meta(const char *dir)
{
    g_autofree char *path = g_build_filename(dir, "odd", NULL);
    struct meta *meta;
    int fd;

    g_assert_true(g_file_set_contents(path, "x", 1, NULL));
    fd = open(path, O_RDONLY);
    g_assert_cmpint(fd, >=, 0);
    OK(fchmod(fd, 04751));
    OK(meta_read(fd, &meta));
    close(fd);
    return meta;
}

static struct step *write_all_records(int dirfd, const char *folder)
{
    struct step *step = step_new(7, 3, IC_STEP_API, "odd \xff command", 2);
    struct step_inode *dir, *inode;

    OK(step_create_manifest(step, dirfd));
    dir = step_get_inode(step, 10);
    OK(step_record_home(step, dir, step->root, odd_names[4]));
    for (size_t i = 0; i < G_N_ELEMENTS(odd_names); i++) {
        inode = step_get_inode(step, 100 + i);
        OK(step_record_binding(step, dir, odd_names[i], i % 2 ? inode : NULL));
    }
    inode = step_get_inode(step, UINT64_MAX);
    OK(step_record_home(step, inode, dir, "home"));
    OK(step_record_meta(step, inode, some_meta(folder)));
    OK(step_record_data(step, inode, INT64_MAX, 12, true));
    inode = step_get_inode(step, 11);
    OK(step_record_home(step, inode, dir, "other home"));
    OK(step_record_data(step, inode, 0, 13, false));
    OK(step_record_retiring(step, inode));
    step_note_retired(step, inode);
    OK(step_record_staging(step, ".stepback-x"));
    OK(step_record_unprotected(step, 1234));
    return step;
}

static void expect_bindings(struct step *step)
{
    struct step_inode *dir = step_find_inode(step, 10);

    g_assert_nonnull(dir);
    for (size_t i = 0; i < G_N_ELEMENTS(odd_names); i++) {
        struct step_binding *binding = step_find_binding(step, dir,
                                                         odd_names[i]);

        g_assert_nonnull(binding);
        if (i % 2)
            g_assert_cmpuint(binding->before->ino, ==, 100 + i);
        else /* existed_before is false */
            g_assert_null(binding->before);
    }
}

static void ul01_records(void)
{
    g_autofree char *folder = g_dir_make_tmp("stepback-test-XXXXXX", NULL);
    int dirfd = open(folder, O_RDONLY | O_DIRECTORY);
    g_autoptr(step_auto) written = write_all_records(dirfd, folder);
    g_autoptr(step_auto) step = NULL;
    struct step_inode *inode;
    g_autofree char *path = NULL;

    OK(step_load(dirfd, NULL, NULL, &step));
    g_assert_false(step->damaged);
    g_assert_cmpint(step->id, ==, 7);
    g_assert_cmpint(step->seq, ==, 3);
    g_assert_cmpint(step->type, ==, IC_STEP_API);
    g_assert_cmpstr(step->command, ==, "odd \xff command");
    g_assert_cmpint(step->started_us, ==, written->started_us);
    g_assert_cmpuint(step->records, ==, written->records);
    g_assert_cmpstr(step->staging, ==, ".stepback-x");
    g_assert_true(step->unprotected);
    expect_bindings(step);
    inode = step_find_inode(step, UINT64_MAX);
    g_assert_nonnull(inode);
    g_assert_cmpint(inode->data_size, ==, INT64_MAX);
    g_assert_cmpint(inode->data_number, ==, 12);
    g_assert_true(inode->flags & STEP_CLONE);
    g_assert_true(meta_equal(inode->meta,
                             step_find_inode(written, UINT64_MAX)->meta, true));
    path = step_path_before(step, inode, NULL);
    g_assert_cmpstr(path, ==, "\xff\xfe\x80 not UTF-8/home");
    g_assert_null(step_find_inode(step, 11));
    g_assert_cmpuint(step->retired->len, ==, 1);
    inode = g_ptr_array_index(step->retired, 0);
    g_assert_cmpuint(inode->ino, ==, 11);
    g_assert_true((inode->flags & (STEP_DATA | STEP_CLONE)) == STEP_DATA);
    close(dirfd);
    OK(sys_remove_tree(AT_FDCWD, folder));
}

/* ---- layout -------------------------------------------------------------- */

/* What is kept is complete before it is needed: a torn entry at the end of the
 * pack, which a kill leaves, belongs to no change. */
static void ul02(gconstpointer data)
{
    world_auto struct world *w = start_world(data);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *pack = NULL;
    FILE *file;

    if (!w)
        return;
    before = world_snapshot(w);
    pack = log_path(w, "wal/in_progress/blobs/data");
    world_step(w);
    set_text(w, "file", "changed");
    w->backend->kill(w);
    file = fopen(pack, "a");
    g_assert_nonnull(file);
    fputs("the first half of an ent", file);
    fclose(file);
    world_start(w);
    g_assert_nonnull(w->recovery);
    world_assert_equal(w, before);
}

/* Open and committed steps have separate places, and one rename leads from one
 * to the other: the step's directory is complete in either. */
static void ul03(gconstpointer data)
{
    world_auto struct world *w = start_world(data);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *open = NULL, *committed = NULL, *text = NULL;
    g_autofree char *manifest = NULL;

    if (!w)
        return;
    before = world_snapshot(w);
    open = log_path(w, "wal/in_progress");
    committed = log_path(w, "steps/1");
    manifest = g_build_filename(committed, "manifest.jsonl", NULL);
    world_step(w);
    set_text(w, "file", "changed");
    g_assert_true(log_has(w, "wal/in_progress/manifest.jsonl"));
    g_assert_false(log_has(w, "steps/1"));
    world_end_step(w);
    g_assert_false(log_has(w, "wal/in_progress"));
    g_assert_true(g_file_get_contents(manifest, &text, NULL, NULL));
    g_assert_nonnull(strstr(text, "{\"t\":\"end\""));
    /* Killed between the end record and the rename (CR-03). */
    w->backend->stop(w);
    OK(rename(committed, open));
    world_start(w);
    g_assert_nonnull(w->recovery);
    world_assert_equal(w, before);
    g_assert_false(log_has(w, "wal/in_progress"));
    g_assert_cmpuint(world_history_count(w), ==, 0);
}

/* ---- versions ------------------------------------------------------------ */

static struct world *other_version(gconstpointer data)
{
    struct world *w = start_world(data);
    json_t *event;

    if (!w)
        return NULL;
    text_step(w, "step 1");
    w->backend->stop(w);
    write_log(w, "version", "99\n");
    world_start(w);
    json_decref(world_request(w, "status", NULL));
    event = w->backend->event(w, "event.undo_version_mismatch");
    g_assert_cmpstr(json_string_value(json_object_get(event, "found")), ==,
                    "99");
    g_assert_cmpstr(json_string_value(json_object_get(event, "supported")), ==,
                    "1");
    g_assert_nonnull(json_object_get(event, "undo_dir"));
    json_decref(event);
    return w;
}

/* Undo is off, the log does not change, and the session works. */
static void ul04(gconstpointer data)
{
    world_auto struct world *w = other_version(data);
    g_autoptr(GPtrArray) log = NULL, after = NULL;
    g_autofree char *steps = NULL, *text = NULL, *diff = NULL;
    g_autofree char *trouble = NULL;
    json_t *report;
    int64_t id;

    if (!w)
        return;
    steps = log_path(w, "steps");
    log = oracle_snapshot(steps, &trouble);
    id = world_step(w);
    set_text(w, "file", "in a step");
    OK(w->backend->unlink(w, "other"));
    world_refused(w, "step.open", json_pack("{s:i}", "step_id", 100),
                  ERROR_STEP_ACTIVE);
    report = world_close_step(w);
    g_assert_true(json_is_false(json_object_get(report, "undoable")));
    json_decref(report);
    set_text(w, "file", "outside of steps");
    text = world_read(w, "file");
    g_assert_cmpstr(text, ==, "outside of steps");
    rollback_refused(w, 1, true, ERROR_UNDO_VERSION_MISMATCH);
    world_refused(w, "history", NULL, ERROR_UNDO_VERSION_MISMATCH);
    id = world_step(w);
    world_refused(w, "step.abort",
                  json_pack("{s:I}", "step_id", (json_int_t)id),
                  ERROR_UNDO_VERSION_MISMATCH);
    after = oracle_snapshot(steps, &trouble);
    diff = oracle_diff(log, after);
    g_assert_null(diff);
}

static void ul05(gconstpointer data)
{
    world_auto struct world *w = other_version(data);
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *version = NULL, *text = NULL;
    int64_t id;

    if (!w)
        return;
    version = log_path(w, "version");
    id = world_step(w);
    world_refused(w, "discard", NULL, ERROR_STEP_ACTIVE);
    world_end_step(w);
    json_decref(world_request(w, "discard", NULL));
    g_assert_true(g_file_get_contents(version, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "1\n");
    g_assert_cmpuint(world_history_count(w), ==, 0);
    g_assert_false(log_has(w, "steps/1"));
    before = world_snapshot(w);
    OK(w->backend->unlink(w, "other"));
    text_step(w, "undone again"); /* and the ambient step before it */
    world_undo_to(w, 2, before);
    restart(w);
    g_assert_false(log_has(w, "discarded"));
    g_assert_cmpuint(world_history_count(w), ==, 0);
    world_refused(w, "step.open", json_pack("{s:I}", "step_id", (json_int_t)id),
                  ERROR_INVALID_FIELD);
}

/* A directory with a file "version" in it need not be an undo log. */
static void ul05_not_a_log(gconstpointer data)
{
    world_auto struct world *w = other_version(data);

    if (!w)
        return;
    write_log(w, "thesis.tex", "precious");
    world_refused(w, "discard", NULL, ERROR_INVALID_DIRECTORY);
    g_assert_true(log_has(w, "steps/1"));
    g_assert_true(log_has(w, "thesis.tex"));
}

/* Killed when some parts had been moved away. */
static void ul05_killed(gconstpointer data)
{
    world_auto struct world *w = other_version(data);
    g_autofree char *steps = NULL, *moved = NULL, *discarded = NULL;

    if (!w)
        return;
    steps = log_path(w, "steps");
    discarded = log_path(w, "discarded");
    moved = g_build_filename(discarded, "steps", NULL);
    w->backend->stop(w);
    OK(mkdir(discarded, 0700));
    OK(rename(steps, moved));
    world_start(w);
    world_refused(w, "history", NULL, ERROR_UNDO_VERSION_MISMATCH);
    json_decref(world_request(w, "discard", NULL));
    text_step(w, "after");
    json_decref(world_undo(w, 1));
    restart(w);
    g_assert_false(log_has(w, "discarded"));
}

static void discard_healthy(gconstpointer data)
{
    world_auto struct world *w = start_world(data);
    g_autoptr(GPtrArray) before = NULL;
    struct stat st;

    if (!w)
        return;
    OK(w->backend->link(w, "file", "dir/link"));
    text_step(w, "1");
    OK(w->backend->unlink(w, "dir/link")); /* the log has a link of it */
    before = world_snapshot(w);
    json_decref(world_request(w, "discard", NULL));
    world_assert_equal(w, before);
    OK(w->backend->stat(w, "file", &st));
    g_assert_cmpuint(st.st_nlink, ==, 1);
    g_assert_cmpuint(world_history_count(w), ==, 0);
    rollback_refused(w, 1, false, ERROR_NOTHING_TO_UNDO);
    text_step(w, "2");
    world_undo_to(w, 1, before);
}

/* ---- links in the log ---------------------------------------------------- */

/* Put a link of a file of the share where a step that was set aside has one. */
static void link_aside(struct world *w, const char *path)
{
    g_autofree char *full = world_host_path(w, path);
    g_autofree char *blobs = log_path(w, "damaged/0/blobs");
    g_autofree char *kept = NULL;
    struct stat st;

    OK(lstat(full, &st));
    OK(g_mkdir_with_parents(blobs, 0700));
    kept = g_strdup_printf("%s/i%ju", blobs, (uintmax_t)st.st_ino);
    OK(link(full, kept));
}

static void expect_links(struct world *w, const char *path, nlink_t count)
{
    struct stat st;

    OK(w->backend->stat(w, path, &st));
    g_assert_cmpuint(st.st_nlink, ==, count);
}

static void wait_for_one_link(struct world *w, const char *path)
{
    g_autofree char *full = world_host_path(w, path);
    gint64 end = g_get_monotonic_time() + 20 * G_TIME_SPAN_SECOND;
    struct stat st;

    do {
        OK(lstat(full, &st));
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(1000);
    } while (st.st_nlink > 1);
}

/* A discard forgets the links of steps that were set aside, too: another file
 * with such an inode's number would seem to be removed. */
static void discard_damaged(gconstpointer backend)
{
    world_auto struct world *w = start_world(backend);

    if (!w)
        return;
    if (!w->backend->log_elsewhere) {
        w->backend->stop(w);
        link_aside(w, "file");
        OK(!world_start(w));
        expect_links(w, "file", 1); /* the log's links do not count */
        json_decref(world_request(w, "discard", NULL));
        wait_for_one_link(w, "file");
        expect_links(w, "file", 1);
        g_assert_false(log_has(w, "damaged"));
    }
}

static const struct world_case cases[] = {
    { "UL-02/torn-pack", ul02 },
    { "UL-03-CR-03/promotion", ul03 },
    { "UL-04/other-version", ul04 },
    { "UL-05/discard", ul05 },
    { "UL-05/not-a-log", ul05_not_a_log },
    { "UL-05/killed", ul05_killed },
    { "UL-05/healthy", discard_healthy },
    { "UL-05/set-aside", discard_damaged },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/log/UL-01/records", ul01_records);
    world_add_cases("/log", WORLD_WITHOUT_9P, cases, G_N_ELEMENTS(cases));
    return g_test_run();
}
