/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_paths_refused_tests - undo by path is refused as a whole.
 *
 * It is refused if a path cannot be restored or is another process's.
 *
 * What a client may not do itself is no obstacle.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "common/errors.h"
#include "tests/lib/edits.h"
#include "tests/lib/engine_trees.h"
#include "tests/undo/restore_rig.h"
#include "tests/undo/undo_tests.h"

/* ---- refusals ------------------------------------------------------------ */

static void refusals(gconstpointer backend)
{
    const char *deep[301];
    g_autofree char *path = NULL;
    struct restore_rig t;

    if (!restore_rig_begin(&t, backend, restore_rig_change_much))
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(deep) - 1; i++)
        deep[i] = "d";
    deep[G_N_ELEMENTS(deep) - 1] = NULL;
    path = g_strjoinv("/", (char **)deep);
    restore_rig_refused(&t, PATHS("file", "no-such"), ERROR_NOT_FOUND);
    restore_rig_refused(&t, PATHS("file", "../x"), ERROR_PATH_OUTSIDE_ROOT);
    restore_rig_refused(&t, PATHS("/etc/passwd"), ERROR_PATH_OUTSIDE_ROOT);
    restore_rig_refused(&t, PATHS(""), ERROR_INVALID_FIELD);
    restore_rig_refused(&t, PATHS(path), ERROR_TOO_LARGE);
    world_refused(t.w, "restore", json_object(), ERROR_INVALID_FIELD);
    world_refused(t.w, "restore", json_pack("{s:[]}", "paths"),
                  ERROR_INVALID_FIELD);
    world_refused(t.w, "restore", json_pack("{s:[i]}", "paths", 3),
                  ERROR_INVALID_FIELD);
    world_refused(t.w, "restore",
                  json_pack("{s:[s], s:i}", "paths", "file", "steps", 5),
                  ERROR_NOTHING_TO_UNDO);
    world_refused(t.w, "restore",
                  json_pack("{s:[s], s:i}", "paths", "file", "down_to", 17),
                  ERROR_NOTHING_TO_UNDO);
    world_assert_equal(t.w, t.after);
    world_step(t.w);
    world_refused(t.w, "restore", restore_rig_payload(PATHS("file"), false),
                  ERROR_STEP_ACTIVE);
    world_end_step(t.w);
    world_assert_equal(t.w, t.after);
    restore_rig_end(&t);
}

/* An edit by another process is overwritten only with force, and undo restores
 * it. An edit beside the paths does not matter. */
static void outside_edits(gconstpointer backend)
{
    g_autoptr(GPtrArray) edited = NULL;
    struct edits f = { 0 };
    struct restore_rig t;
    json_t *answer;

    if (!restore_rig_begin(&t, backend, restore_rig_change_much))
        return;
    f.w = t.w;
    edits_write(&f, "file", "edited from outside");
    edits_write(&f, "new/theirs", "made from outside");
    edited = world_snapshot(t.w);
    restore_rig_refused(&t, PATHS("file"), ERROR_UNDO_BARRIER);
    restore_rig_refused(&t, PATHS("new"), ERROR_UNDO_BARRIER);
    json_decref(restore_rig_restore(&t, PATHS("second")));
    json_decref(world_undo(t.w, 1));
    world_assert_equal(t.w, edited);
    answer = world_request(t.w, "restore",
                           restore_rig_payload(PATHS("file", "new"), true));
    g_assert_true(edits_warns(answer, "file"));
    json_decref(answer);
    edits_assert_text(&f, "file", "what was there");
    json_decref(world_undo(t.w, 1));
    world_assert_equal(t.w, edited);
    restore_rig_end(&t);
}

/* Safeguards are for what a command destroys. */
static void safeguards(gconstpointer backend)
{
    struct restore_rig t;

    if (!restore_rig_begin(&t, backend, restore_rig_change_much))
        return;
    json_decref(world_request(
        t.w, "safeguard.configure",
        json_pack("{s:i, s:i, s:b, s:i}", "delete_threshold", 1,
                  "overwrite_file_size_threshold", 1, "rename_over_existing",
                  true, "timeout_seconds", 1)));
    CHECK("file", "new", "made", "dir", "symbolic");
    restore_rig_end(&t);
}

static void set_bits(struct world *w)
{
    DO(chmod, "tool", 0755);
    DO(unlink, "second-tool");
}

/* The former mode has bits that a client may no longer set. */
static void privileged_bits(gconstpointer backend)
{
    world_auto struct world *w = world_new(backend);
    g_autofree char *tool = world_host_path(w, "tool");
    g_autofree char *second = world_host_path(w, "second-tool");
    g_autoptr(GPtrArray) before = NULL;

    world_host_file(w, "tool", "#!/bin/sh\n");
    world_host_file(w, "second-tool", "#!/bin/sh\n");
    OK(chmod(tool, 04755));
    OK(chmod(second, 02755));
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        set_bits(w);
        world_end_step(w);
        json_decref(world_request(w, "restore",
                                  restore_rig_payload(PATHS("."), false)));
        world_assert_equal(w, before);
    }
}

static void rewrite_big(struct world *w)
{
    g_autofree char *text = g_strnfill(4 << 20, 'x');

    OK(w->backend->put(w, "big", 0, text, 4 << 20, 0));
    WRITE("file", "CHANGED");
}

/* The step would be unprotected, so it could not be undone. */
static void log_limits(gconstpointer backend)
{
    struct restore_rig t;

    if (!restore_rig_begin(&t, backend, rewrite_big))
        return;
    json_decref(world_request(
        t.w, "configure",
        json_pack("{s:i}", "max_single_step_size_bytes", 1 << 20)));
    restore_rig_refused(&t, PATHS("file", "big"), ERROR_TOO_LARGE);
    CHECK("file");
    json_decref(
        world_request(t.w, "configure",
                      json_pack("{s:i}", "max_single_step_size_bytes", -1)));
    CHECK("file", "big");
    restore_rig_end(&t);
}

static void change_closed(struct world *w)
{
    DO(chmod, "closed", 0755);
    DO(chmod, "closed/file", 0644);
    WRITE("closed/file", "CHANGED");
    DO(chmod, "closed/file", 0400);
    DO(unlink, "closed/gone");
    CREATE("closed/new", "made");
    DO(chmod, "closed", 0500);
}

/* Modes that deny their owner access are no obstacle, and do not change. */
static void closed_to_owner(gconstpointer backend)
{
    world_auto struct world *w = world_new(backend);
    g_autofree char *dir = world_host_path(w, "closed");
    g_autofree char *file = world_host_path(w, "closed/file");
    struct restore_rig t = { .w = w };

    world_host_dir(w, "closed");
    world_host_file(w, "closed/file", "before");
    world_host_file(w, "closed/gone", "removed");
    OK(chmod(file, 0400));
    OK(chmod(dir, 0500));
    if (world_start(w)) {
        t.before = world_snapshot(w);
        world_step(w);
        change_closed(w);
        world_end_step(w);
        t.after = world_snapshot(w);
        CHECK("closed/file");
        CHECK("closed/gone");
        CHECK("closed/new");
        CHECK("closed");
        json_decref(
            restore_rig_restore(&t, PATHS("closed/gone", "closed/file")));
        restore_rig_compare(&t, PATHS("closed/gone", "closed/file"));
        OK(chmod(dir, 0700));
        g_ptr_array_unref(t.before);
        g_ptr_array_unref(t.after);
    }
}

/* ---- */

static const struct world_case cases[] = {
    { "refused-whole", refusals },
    { "outside-edits", outside_edits },
    { "safeguards-do-not-ask", safeguards },
    { "privileged-bits", privileged_bits },
    { "closed-to-owner", closed_to_owner },
    { "limits-of-the-log", log_limits },
};

void add_restore_paths_refused_tests(void)
{
    world_add_cases("", WORLD_WITHOUT_9P, cases, G_N_ELEMENTS(cases));
}
