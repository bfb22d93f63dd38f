/* SPDX-License-Identifier: Apache-2.0
 *
 * write-file-test - files that the agent writes itself, as API steps.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/lib/world.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

static struct world *start_world(gconstpointer backend)
{
    struct world *w = world_new(backend);
    g_autofree char *link = world_host_path(w, "link");
    g_autofree char *dir_link = world_host_path(w, "dir-link");
    g_autofree char *fifo = world_host_path(w, "fifo");

    world_host_dir(w, "dir");
    world_host_file(w, "file", "a longer content than the new one");
    OK(symlink("/etc/passwd", link));
    OK(symlink("..", dir_link));
    OK(mkfifo(fifo, 0644));
    if (world_start(w))
        return w;
    world_free(w);
    return NULL;
}

static json_t *write_file(struct world *w, const char *path, const char *text)
{
    json_t *report = world_request(
        w, "write_file",
        json_pack("{s:s, s:s}", "path", path, "content", text));

    w->next_id = json_integer_value(json_object_get(report, "step_id")) + 1;
    return report;
}

static void expect_text(struct world *w, const char *path, const char *wanted)
{
    g_autofree char *text = world_read(w, path);

    g_assert_cmpstr(text, ==, wanted);
}

/* MC-03, MC-04. */
static void creates(gconstpointer data)
{
    world_auto struct world *w = start_world(data);
    g_autoptr(GPtrArray) before = NULL;
    json_t *report, *history, *step;
    struct stat st;

    if (!w)
        return;
    before = world_snapshot(w);
    report = write_file(w, "dir/new", "text\n");
    world_assert_affected(report, "dir/new", NULL);
    g_assert_true(json_is_true(json_object_get(report, "undoable")));
    json_decref(report);
    expect_text(w, "dir/new", "text\n");
    OK(w->backend->stat(w, "dir/new", &st));
    g_assert_cmpuint(st.st_mode & 07777, ==, 0644);
    history = world_request(w, "history", NULL);
    step = json_array_get(json_object_get(history, "steps"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(step, "type")), ==,
                    "api");
    json_decref(history);
    world_undo_to(w, 1, before);
}

/* In place: other names and the mode stay. */
static void overwrites(gconstpointer data)
{
    world_auto struct world *w = start_world(data);
    g_autoptr(GPtrArray) before = NULL;
    struct stat was, is;

    if (!w)
        return;
    OK(w->backend->link(w, "file", "dir/other-name"));
    OK(w->backend->chmod(w, "file", 0750));
    before = world_snapshot(w);
    OK(w->backend->stat(w, "file", &was));
    json_decref(write_file(w, "file", "new"));
    expect_text(w, "file", "new");
    expect_text(w, "dir/other-name", "new");
    OK(w->backend->stat(w, "file", &is));
    g_assert_cmpuint(is.st_ino, ==, was.st_ino);
    g_assert_cmpuint(is.st_mode, ==, was.st_mode);
    world_undo_to(w, 1, before);
}

static void bytes_and_mode(gconstpointer data)
{
    world_auto struct world *w = start_world(data);
    g_autofree char *path = NULL, *text = NULL;
    struct stat st;
    gsize len;

    if (!w)
        return;
    json_decref(world_request(
        w, "write_file",
        json_pack("{s:s, s:s, s:s, s:i}", "path", "binary", "content",
                  "AP+AYQ==", "encoding", "base64", "mode", 0711)));
    path = world_host_path(w, "binary");
    g_assert_true(g_file_get_contents(path, &text, &len, NULL));
    g_assert_cmpmem(text, len,
                    "\0\xff\x80"
                    "a",
                    4);
    OK(stat(path, &st));
    g_assert_cmpuint(st.st_mode & 07777, ==, 0711);
}

static void refused(struct world *w, const char *path, int code)
{
    world_refused(w, "write_file",
                  json_pack("{s:s, s:s}", "path", path, "content", "x"), code);
}

/* MC-05: no step, no change. */
static void errors(gconstpointer data)
{
    world_auto struct world *w = start_world(data);
    g_autoptr(GPtrArray) before = NULL;

    if (!w)
        return;
    before = world_snapshot(w);
    refused(w, "../outside", ERROR_PATH_OUTSIDE_ROOT);
    refused(w, "dir/../../outside", ERROR_PATH_OUTSIDE_ROOT);
    refused(w, "/etc/outside", ERROR_PATH_OUTSIDE_ROOT);
    refused(w, "link", ERROR_PATH_OUTSIDE_ROOT);
    refused(w, "dir-link/outside", ERROR_PATH_OUTSIDE_ROOT);
    refused(w, "missing/file", ERROR_NOT_FOUND);
    refused(w, "file/below", ERROR_NOT_FOUND);
    refused(w, "", ERROR_INVALID_FIELD);
    refused(w, "dir/", ERROR_INVALID_FIELD);
    refused(w, "./x", ERROR_INVALID_FIELD);
    refused(w, "dir", ERROR_INVALID_FIELD);
    refused(w, "fifo", ERROR_INVALID_FIELD);
    world_refused(w, "write_file", json_pack("{s:s}", "path", "x"),
                  ERROR_INVALID_FIELD);
    world_refused(w, "write_file", json_pack("{s:s}", "content", "x"),
                  ERROR_MISSING_FIELD);
    world_refused(w, "write_file",
                  json_pack("{s:s, s:s, s:s}", "path", "x", "content", "!!",
                            "encoding", "base64"),
                  ERROR_INVALID_FIELD);
    world_refused(w, "write_file",
                  json_pack("{s:s, s:s, s:i}", "path", "x", "content", "x",
                            "mode", 010000),
                  ERROR_INVALID_FIELD);
    world_assert_equal(w, before);
    g_assert_cmpuint(world_history_count(w), ==, 0);
}

static void step_active(gconstpointer data)
{
    world_auto struct world *w = start_world(data);
    g_autoptr(GPtrArray) before = NULL;

    if (!w)
        return;
    before = world_snapshot(w);
    world_step(w);
    refused(w, "x", ERROR_STEP_ACTIVE);
    world_assert_equal(w, before);
    world_end_step(w);
    json_decref(write_file(w, "x", "text"));
    refused(w, "../x", ERROR_PATH_OUTSIDE_ROOT);
    g_assert_cmpuint(world_history_count(w), ==, 1);
}

/* Return the request to write a file that should have this content. */
static json_t *replacing(const char *path, const char *known, const char *text)
{
    g_autofree char *sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256,
                                                            known, -1);

    return json_pack("{s:s, s:s, s:{s:i, s:s}}", "path", path, "content", text,
                     "replaces", "size", (int)strlen(known), "sha256", sha256);
}

static void not_replaced(struct world *w, const char *path, const char *known,
                         int code)
{
    world_refused(w, "write_file", replacing(path, known, "new"), code);
}

static void replaces(gconstpointer data)
{
    static const char text[] = "a longer content than the new one";
    world_auto struct world *w = start_world(data);
    g_autofree char *many = g_strnfill(300000, 'x');
    g_autoptr(GPtrArray) before = NULL;
    json_t *report;

    if (!w)
        return;
    before = world_snapshot(w);
    not_replaced(w, "file", "a longer content than the old one",
                 ERROR_IO_ERROR);
    not_replaced(w, "file", "a longer content than the new on", ERROR_IO_ERROR);
    not_replaced(w, "file", many, ERROR_IO_ERROR);
    not_replaced(w, "file", "", ERROR_IO_ERROR);
    not_replaced(w, "new", "", ERROR_NOT_FOUND);
    not_replaced(w, "missing/file", "", ERROR_NOT_FOUND);
    not_replaced(w, "file/below", "", ERROR_NOT_FOUND);
    not_replaced(w, "../share/file", text, ERROR_PATH_OUTSIDE_ROOT);
    not_replaced(w, "/etc/passwd", "", ERROR_PATH_OUTSIDE_ROOT);
    not_replaced(w, "link", "", ERROR_PATH_OUTSIDE_ROOT);
    not_replaced(w, "dir-link/file", text, ERROR_PATH_OUTSIDE_ROOT);
    not_replaced(w, "dir", "", ERROR_INVALID_FIELD);
    not_replaced(w, "fifo", "", ERROR_INVALID_FIELD);
    not_replaced(w, "", "", ERROR_INVALID_FIELD);
    not_replaced(w, "dir/", "", ERROR_INVALID_FIELD);
    world_refused(w, "write_file",
                  json_pack("{s:s, s:s, s:[]}", "path", "file", "content", "x",
                            "replaces"),
                  ERROR_MISSING_FIELD);
    world_refused(w, "write_file",
                  json_pack("{s:s, s:s, s:{s:i, s:s}}", "path", "file",
                            "content", "x", "replaces", "size", -1, "sha256",
                            ""),
                  ERROR_INVALID_FIELD);
    world_assert_equal(w, before);
    g_assert_cmpuint(world_history_count(w), ==, 0);
    report = world_request(w, "write_file", replacing("file", text, many));
    world_assert_affected(report, "file", NULL);
    json_decref(report);
    expect_text(w, "file", many);
    report = world_request(w, "write_file", replacing("file", many, "short"));
    json_decref(report);
    expect_text(w, "file", "short");
    g_assert_cmpuint(world_history_count(w), ==, 2);
    world_undo_to(w, 2, before);
}

/* A client's own change counts like any other. */
static void replaces_nothing_in_a_step(gconstpointer data)
{
    world_auto struct world *w = start_world(data);

    if (!w)
        return;
    world_step(w);
    not_replaced(w, "file", "a longer content than the new one",
                 ERROR_STEP_ACTIVE);
    OK(w->backend->put(w, "file", O_TRUNC, "a guest's", 9, 0));
    world_end_step(w);
    not_replaced(w, "file", "a longer content than the new one",
                 ERROR_IO_ERROR);
    expect_text(w, "file", "a guest's");
    g_assert_cmpuint(world_history_count(w), ==, 1);
}

static const struct world_case cases[] = {
    { "MC-04/creates", creates },
    { "MC-04/overwrites", overwrites },
    { "bytes-and-mode", bytes_and_mode },
    { "MC-05/errors", errors },
    { "step-active", step_active },
    { "replaces", replaces },
    { "replaces-nothing-in-a-step", replaces_nothing_in_a_step },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    world_add_cases("/write-file", WORLD_WITHOUT_9P, cases,
                    G_N_ELEMENTS(cases));
    return g_test_run();
}
