/* SPDX-License-Identifier: Apache-2.0
 *
 * parking_tests - changes of a server that can wait return IC_PARKED.
 *
 * They do so while a decision is pending or a rollback runs; the server is
 * notified of the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/errors.h"
#include "interceptor/engine/engine.h"
#include "tests/engine/engine_tests.h"
#include "tests/engine/parking_rig.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

/* ---- every change -------------------------------------------------------- */

static ssize_t call(struct parking_rig *f, int number)
{
    struct ic *ic = f->ic;
    struct ic_inode *root = ic_root(ic), *inode = NULL;
    struct ic_setattr attr = { .valid = IC_SET_MODE, .mode = 0600 };
    struct iovec iov = { (void *)"new", 3 };
    int fd = -1;

    switch (number) {
    case 0:
        return ic_create(ic, &f->cred, root, "new", O_RDWR, 0644, &inode, NULL,
                         &fd);
    case 1:
        return ic_mkdirat(ic, &f->cred, root, "new", 0755, &inode, NULL);
    case 2:
        return ic_mknodat(ic, &f->cred, root, "new", S_IFIFO | 0644, 0, &inode,
                          NULL);
    case 3:
        return ic_symlinkat(ic, &f->cred, "to", root, "new", &inode, NULL);
    case 4:
        return ic_linkat(ic, f->file, root, "new", NULL);
    case 5:
        return ic_unlinkat(ic, root, "file", 0);
    case 6:
        return ic_unlinkat(ic, f->dir, "sub", AT_REMOVEDIR);
    case 7:
        return ic_renameat2(ic, root, "file", root, "new", 0);
    case 8:
        return ic_tmpfile(ic, &f->cred, root, O_RDWR, 0644, &inode, NULL, &fd);
    case 9:
        return ic_open(ic, f->file, O_RDWR | O_TRUNC, &fd);
    case 10:
        return ic_pwritev(ic, f->file, f->fd, &iov, 1, 0, 0, false);
    case 11:
        return ic_setattr(ic, f->file, -1, &attr, NULL);
    case 12:
        return ic_setxattr(ic, f->file, "user.test", "x", 1, 0);
    case 13:
        return ic_removexattr(ic, f->file, "user.test");
    case 14:
        return ic_fallocate(ic, f->file, f->fd, 0, 0, 100);
    case 15:
        return ic_copy_file_range(ic, f->fd, 0, f->file, f->fd, 100, 3, 0);
    default:
        return -ENOSYS;
    }
}

static void all_return(struct parking_rig *f, ssize_t expected)
{
    for (int i = 0; i < 16; i++)
        g_assert_cmpint(call(f, i), ==, expected);
}

static void read_on(struct parking_rig *f)
{
    struct ic_inode *inode;
    struct stat st;
    int fd;

    OK(ic_lookup(f->ic, ic_root(f->ic), "other", &inode, &st));
    OK(ic_stat(f->ic, inode, &st));
    OK(ic_open(f->ic, inode, O_RDWR, &fd));
    close(fd);
    ic_inode_unref(inode);
}

static void allowed(struct parking_rig *f, gconstpointer data)
{
    g_autofree char *id = parking_rig_hold(f);
    g_autoptr(GPtrArray) then = world_snapshot(f->world);

    all_return(f, IC_PARKED);
    read_on(f);
    world_assert_equal(f->world, then);
    g_assert_cmpuint(f->released, ==, 0);
    g_assert_true(ic_safeguard_confirm(f->ic, id, true, NULL));
    g_assert_cmpuint(f->released, ==, 1);
    g_assert_cmpuint(f->denied, ==, 0);
    OK(ic_unlinkat(f->ic, ic_root(f->ic), "other", 0));
    OK(ic_unlinkat(f->ic, ic_root(f->ic), "file", 0));
}

static void denied(struct parking_rig *f, gconstpointer data)
{
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    g_autofree char *id = parking_rig_hold(f);
    struct ic_step_info *info;

    g_assert_true(ic_safeguard_confirm(f->ic, id, false, NULL));
    g_assert_cmpuint(f->denied, ==, 1);
    g_assert_cmpuint(f->released, ==, 0);
    all_return(f, -EPERM);
    read_on(f);
    world_assert_equal(f->world, before);
    g_assert_true(ic_step_close(f->ic, 1, 3, 0, 0, &info, NULL));
    g_assert_true(info->denied);
    g_assert_false(info->undoable);
    g_assert_cmpint(info->exit_code, ==, 3);
    ic_step_info_free(info);
    OK(ic_unlinkat(f->ic, ic_root(f->ic), "other", 0)); /* an ambient step */
}

/* The step made changes before it was denied; its answer lists what was lost.
 */
static void denied_after_changes(struct parking_rig *f, gconstpointer data)
{
    struct ic_safeguard_rules rules = { .delete_threshold = 2,
                                        .overwrite_file_size_threshold = -1 };
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    g_autofree char *id = NULL;
    struct ic_step_info *info;

    g_assert_true(ic_safeguard_configure(f->ic, &rules, NULL));
    g_assert_true(ic_step_open(f->ic, 7, IC_STEP_API, NULL, NULL));
    OK(ic_unlinkat(f->ic, ic_root(f->ic), "other", 0));
    g_assert_cmpint(call(f, 10), ==, 3);
    g_assert_cmpint(call(f, 6), ==, IC_PARKED);
    id = parking_rig_wait_triggered(f);
    g_assert_true(ic_safeguard_confirm(f->ic, id, false, NULL));
    world_assert_equal(f->world, before);
    g_assert_true(ic_step_close(f->ic, 7, 0, 0, 0, &info, NULL));
    g_assert_cmpuint(info->affected, ==, 2);
    ic_step_info_free(info);
    g_assert_cmpint(ic_last_step_id(f->ic), ==, 7);
}

/* An obstacle stops the rollback of a denied step: that is reported, and the
 * step can be rolled back later. */
static void denial_fails(struct parking_rig *f, gconstpointer data)
{
    g_autofree char *obstacle = g_build_filename(
        f->world->undo_dir, "wal", "in_progress", "staging", NULL);
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    g_autoptr(GError) error = NULL, again = NULL;
    g_autofree char *id = parking_rig_hold(f);

    g_assert_true(ic_safeguard_confirm(f->ic, id, true, NULL));
    OK(call(f, 11));
    OK(call(f, 7));
    g_assert_true(ic_step_abort(f->ic, 1, NULL));
    g_clear_pointer(&id, g_free);
    id = parking_rig_hold(f);
    g_assert_true(g_file_set_contents(obstacle, "", 0, NULL));
    g_assert_false(ic_safeguard_confirm(f->ic, id, false, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_IO_ERROR);
    all_return(f, -EPERM);
    g_assert_false(ic_step_close(f->ic, 2, 0, 0, 0, NULL, &again));
    g_assert_error(again, STEPBACK_ERROR, ERROR_IO_ERROR);
    all_return(f, -EIO);
    OK(unlink(obstacle));
    g_assert_true(ic_rollback(f->ic, 1, false, NULL, NULL));
    world_assert_equal(f->world, before);
    OK(ic_unlinkat(f->ic, ic_root(f->ic), "other", 0));
}

/* ---- changes that block -------------------------------------------------- */

/* A parked change gets the verdict that ended its own wait, whatever has
 * happened since. */
static void verdicts(struct parking_rig *f, gconstpointer data)
{
    struct parking *parking = &f->ic->parking;
    uint64_t seq = parking_seq(parking);
    int rc = IC_PARKED;

    g_assert_false(parking_again(parking, seq, &rc));
    g_assert_cmpint(rc, ==, IC_PARKED);
    parking_thread_waits(true);
    parking_begin_decision(parking);
    parking_end_decision(parking, false);
    parking_end_denied(parking);
    g_assert_false(parking_again(parking, seq, &rc));
    g_assert_cmpint(rc, ==, -EPERM);
    seq = parking_seq(parking);
    parking_begin_decision(parking);
    parking_end_decision(parking, true);
    rc = IC_PARKED;
    g_assert_true(parking_again(parking, seq, &rc));
    OK(rc);
    parking_thread_waits(false);
}

static gpointer unlink_waiting(gpointer data)
{
    struct parking_rig *f = data;
    int rc;

    parking_thread_waits(true);
    rc = ic_unlinkat(f->ic, ic_root(f->ic), "file", 0);
    parking_thread_waits(false);
    return GINT_TO_POINTER(rc);
}

/* Shutdown of the engine does not wait for a decision. */
static void refused(struct parking_rig *f, gconstpointer data)
{
    GThread *thread;

    g_free(parking_rig_hold(f));
    thread = g_thread_new("waits", unlink_waiting, f);

    safeguard_refuse(f->ic);
    g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(thread)), ==, -EPERM);
    all_return(f, -EPERM);
}

/* ---- the engine's own changes -------------------------------------------- */

/* Read the responses to the requests "1" and "2", in any order; skip events. */
static void read_responses(FILE *in, json_t *ret_responses[2])
{
    g_autofree char *line = NULL;
    size_t size = 0;
    ssize_t len;

    ret_responses[0] = ret_responses[1] = NULL;
    while (!ret_responses[0] || !ret_responses[1]) {
        json_t *message;
        const char *id;

        len = getline(&line, &size, in);
        g_assert_cmpint(len, >, 0);
        message = json_loadb(line, (size_t)len, 0, NULL);
        id = json_string_value(json_object_get(message, "request_id"));
        if (id)
            ret_responses[id[0] - '1'] = message;
        else
            json_decref(message);
    }
}

static const char *status_of(json_t *response)
{
    json_t *error = json_object_get(response, "error");

    return error ? json_string_value(json_object_get(error, "code"))
                 : json_string_value(json_object_get(response, "status"));
}

/* A write by the agent is held like a command's, and waits in its thread; the
 * answer to the question overtakes it on the same connection. */
static void write_file(struct parking_rig *f, gconstpointer data)
{
    struct ic_safeguard_rules rules = { .timeout_ms = 600000 };
    bool allow = GPOINTER_TO_INT(data);
    g_autofree char *id = NULL, *text = NULL;
    json_t *responses[2];
    int pair[2];
    FILE *in;

    OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    in = fdopen(pair[0], "r+");
    g_assert_true(ic_control_attach(f->ic, pair[1], NULL));
    g_assert_true(ic_safeguard_configure(f->ic, &rules, NULL));
    dprintf(pair[0], "{\"type\":\"write_file\",\"request_id\":\"1\","
                     "\"payload\":{\"path\":\"file\",\"content\":\"new\"}}\n");
    id = parking_rig_wait_triggered(f);
    dprintf(pair[0],
            "{\"type\":\"safeguard.confirm\",\"request_id\":\"2\","
            "\"payload\":{\"safeguard_id\":\"%s\",\"action\":\"%s\"}}\n",
            id, allow ? "allow" : "deny");
    read_responses(in, responses);
    g_assert_cmpstr(status_of(responses[0]), ==, allow ? "ok" : "denied");
    g_assert_cmpstr(status_of(responses[1]), ==, "ok");
    text = world_read(f->world, "file");
    g_assert_cmpstr(text, ==, allow ? "new" : "content");
    OK(call(f, 11)); /* no step is left open */
    json_decref(responses[0]);
    json_decref(responses[1]);
    fclose(in);
}

/* ---- rollbacks ----------------------------------------------------------- */

static void rollback_runs(struct parking_rig *f, gconstpointer data)
{
    parking_begin_rollback(&f->ic->parking);
    parking_begin_rollback(&f->ic->parking);
    all_return(f, IC_PARKED);
    read_on(f);
    /* The engine's own threads get no notification, so they wait. */
    parking_thread_waits(true);
    OK(ic_unlinkat(f->ic, ic_root(f->ic), "other", 0));
    parking_thread_waits(false);
    parking_end_rollback(&f->ic->parking);
    g_assert_cmpint(call(f, 1), ==, IC_PARKED);
    g_assert_cmpuint(f->released, ==, 0);
    parking_end_rollback(&f->ic->parking);
    g_assert_cmpuint(f->released, ==, 1);
    OK(ic_unlinkat(f->ic, ic_root(f->ic), "file", 0));
}

static void rollback_tells(struct parking_rig *f, gconstpointer data)
{
    g_autoptr(GPtrArray) before = world_snapshot(f->world);

    OK(ic_unlinkat(f->ic, ic_root(f->ic), "other", 0));
    g_assert_true(ic_rollback(f->ic, 1, false, NULL, NULL));
    g_assert_cmpuint(f->released, ==, 1);
    world_assert_equal(f->world, before);
}

/* ---- the end ------------------------------------------------------------- */

/* With a decision pending, or a denied step not closed. */
static void close_engine(struct parking_rig *f, gconstpointer data)
{
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    g_autofree char *id = NULL;
    struct ic_step_info *recovered;
    bool deny = GPOINTER_TO_INT(data);

    g_assert_true(ic_step_open(f->ic, 1, IC_STEP_COMMAND, "test", NULL));
    g_assert_cmpint(call(f, 10), ==, 3);
    g_assert_true(ic_step_close(f->ic, 1, 0, 0, 0, NULL, NULL));
    g_assert_true(ic_rollback(f->ic, 1, false, NULL, NULL));
    id = parking_rig_hold(f);
    if (deny)
        g_assert_true(ic_safeguard_confirm(f->ic, id, false, NULL));
    parking_rig_stop(f);
    parking_rig_start(f);
    recovered = ic_recovered(f->ic);
    g_assert_true((recovered == NULL) == deny);
    ic_step_info_free(recovered);
    world_assert_equal(f->world, before);
    OK(ic_unlinkat(f->ic, ic_root(f->ic), "other", 0));
}

/* Without an undo log a denied step could not be rolled back. */
static void no_log(struct parking_rig *f, gconstpointer data)
{
    struct ic_safeguard_rules rules = { .delete_threshold = 1 };
    struct ic_options options = { .share = f->world->share };
    g_autoptr(GError) error = NULL;
    struct ic *ic = ic_open_share(&options, NULL);

    g_assert_nonnull(ic);
    g_assert_false(ic_safeguard_configure(ic, &rules, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO);
    OK(ic_unlinkat(ic, ic_root(ic), "other", 0));
    ic_close(ic);
}

static const struct {
    const char *path;
    void (*run)(struct parking_rig *f, gconstpointer data);
    gconstpointer data;
} cases[] = {
    { "/parking/allowed", allowed },
    { "/parking/denied", denied },
    { "/parking/denied-after-changes", denied_after_changes },
    { "/parking/denial-fails", denial_fails },
    { "/parking/verdict-outlives-the-decision", verdicts },
    { "/parking/shutdown-does-not-wait", refused },
    { "/parking/write-file/allowed", write_file, GINT_TO_POINTER(1) },
    { "/parking/write-file/denied", write_file },
    { "/parking/rollback-runs", rollback_runs },
    { "/parking/rollback-end-is-notified", rollback_tells },
    { "/parking/close/pending", close_engine },
    { "/parking/close/denied", close_engine, GINT_TO_POINTER(1) },
    { "/parking/needs-an-undo-log", no_log },
};

void add_parking_tests(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add(cases[i].path, struct parking_rig, cases[i].data,
                   parking_rig_set_up, cases[i].run, parking_rig_tear_down);
}
