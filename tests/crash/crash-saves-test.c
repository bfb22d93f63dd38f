/* SPDX-License-Identifier: Apache-2.0
 *
 * crash-saves-test - edits after a kill in an undo or redo are kept.
 *
 * The engine is killed at every point, and another process changes the same
 * files before the next start. What that process saved must then be in the
 * folder or in the log, and the start must succeed, whatever was removed: a log
 * that refuses each start would be useless. The engine has no timer here, as in
 * the command line.
 *
 * STEPBACK_CRASH_STRIDE=N takes every Nth point only.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "interceptor/engine/engine.h"
#include "interceptor/sys/fault.h"
#include "tests/crash/crash_points.h"
#include "tests/lib/world.h"

enum { LARGE = 300000 };

static const char *const files[] = { "file",         "dir/file",
                                     "dir/sub/file", "dir/sub/large",
                                     "moved",        "link" };

struct act {
    const char *name;
    bool redo, force;
};

static const struct act acts[] = {
    { "undo", false, false },
    { "forced-undo", false, true },
    { "redo", true, false },
};

struct edit {
    const char *name;
    bool saves; /* a different text in each file */
    const char *command;
};

/* With saves, the first %s is the index of a file and '%s' its path. */
static const struct edit edits[] = {
    { "saved", true, "printf 'saved %s' > '%s' 2>/dev/null || true" },
    { "replaced", true,
      "printf 'saved %s' > t && mv t '%s' 2>/dev/null || rm t" },
    { "removed", false, "rm -rf dir file moved link new" },
    { "moved", false,
      "mkdir -p x && mv -f dir/sub file moved new x; mv dir y" },
    { "folder-moved", false, "mv dir y; true" },
    { "folders-swapped", false,
      "mv dir y; mkdir dir; printf theirs > dir/sub; true" },
};

struct test {
    const struct act *act;
    const struct edit *edit;
    const struct world_backend *backend;
    struct fault_board *board;
};

/* ---- the tree ------------------------------------------------------------ */

static void shell(struct world *w, const char *command)
{
    g_autofree char *line = g_strdup_printf("cd '%s' && { %s; } 2>/dev/null",
                                            w->share, command);

    if (system(line) < 0)
        g_test_fail();
}

static void fill(struct world *w)
{
    g_autofree char *large = g_strnfill(LARGE, 'l');

    world_host_dir(w, "dir/sub");
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        world_host_file(w, files[i], strstr(files[i], "large") ? large : "old");
    shell(w, "ln link dir/sub/linked");
}

static void change(struct world *w)
{
    const struct world_backend *b = w->backend;

    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        g_assert_cmpint(b->put(w, files[i], 0, "by the step", 11, 0), ==, 0);
    g_assert_cmpint(b->mkdir(w, "new", 0755), ==, 0);
    g_assert_cmpint(b->rename(w, "dir/sub", "new/sub", 0), ==, 0);
    g_assert_cmpint(b->mkdir(w, "dir/sub", 0755), ==, 0);
    g_assert_cmpint(b->rename(w, "moved", "dir/sub/moved", 0), ==, 0);
    g_assert_cmpint(b->chmod(w, "dir/file", 0600), ==, 0);
}

static void prepare(struct world *w, const struct act *act)
{
    g_autoptr(GError) error = NULL;

    fill(w);
    world_folder_open(w, &error);
    g_assert_no_error(error);
    ic_step_open(world_folder_ic(w), 1, IC_STEP_COMMAND, "changes", &error);
    change(w);
    ic_step_close(world_folder_ic(w), 1, 0, 0, 0, NULL, &error);
    if (act->redo)
        ic_rollback(world_folder_ic(w), 1, false, NULL, &error);
    g_assert_no_error(error);
    w->backend->stop(w);
    if (act->force)
        shell(w, "printf theirs > dir/file; rm link");
}

static void go(struct world *w, const struct act *act)
{
    struct ic_rollback_result *result = NULL;

    if (!world_folder_open(w, NULL))
        return;
    if (act->redo)
        ic_redo(world_folder_ic(w), 1, false, &result, NULL);
    else
        ic_rollback_steps(world_folder_ic(w), 1, act->force, &result, NULL);
}

/* ---- edits --------------------------------------------------------------- */

static void edit_all(struct world *w, const struct edit *edit)
{
    if (!edit->saves) {
        shell(w, edit->command);
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *number = g_strdup_printf("%zu", i);
        g_autoptr(GString) line = g_string_new(edit->command);

        g_string_replace(line, "'%s'", files[i], 0);
        g_string_replace(line, "%s", number, 0);
        shell(w, line->str);
    }
}

static bool is_somewhere(struct world *w, size_t i)
{
    g_autofree char *command = g_strdup_printf(
        "grep -rqs 'saved %zu' '%s' '%s' --exclude-dir=trash", i, w->share,
        w->undo_dir);

    return system(command) == 0;
}

static bool was_saved(struct world *w, size_t i)
{
    g_autofree char *command = g_strdup_printf("grep -rqs 'saved %zu' '%s'", i,
                                               w->share);

    return system(command) == 0;
}

/* ---- one run ------------------------------------------------------------- */

static void run_killed(struct world *w, const struct act *act,
                       struct fault_board *board, unsigned point)
{
    const struct fault_plan plan = { FAULT_KILL_BEFORE, point, 0 };
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        fault_use(board);
        fault_set(board, &plan);
        go(w, act);
        fault_set(board, NULL);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
}

static bool is_usable(struct world *w)
{
    g_autoptr(GError) error = NULL;

    if (!world_folder_open(w, &error) ||
        !ic_step_open(world_folder_ic(w), 2, IC_STEP_COMMAND, "x", &error) ||
        !ic_step_close(world_folder_ic(w), 2, 0, 0, 0, NULL, &error))
        g_test_message("%s", error->message);
    return !error;
}

static bool run_round(void *opaque, unsigned point)
{
    const struct test *test = opaque;
    struct fault_board *board = test->board;
    world_auto struct world *w = world_new(test->backend);
    bool saved[G_N_ELEMENTS(files)], ok;

    prepare(w, test->act);
    run_killed(w, test->act, board, point);
    edit_all(w, test->edit);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        saved[i] = was_saved(w, i);
    ok = is_usable(w);
    for (size_t i = 0; ok && i < G_N_ELEMENTS(files); i++) {
        ok = !saved[i] || is_somewhere(w, i);
        if (!ok)
            g_test_message("what was saved as %s is lost", files[i]);
    }
    if (!ok) {
        g_test_message("at point %u: %s %s", point, board->call, board->name);
        g_test_fail();
    }
    if (w->state)
        test->backend->stop(w);
    return board->fired != 0;
}

static void run_test(gconstpointer data)
{
    struct test test = *(const struct test *)data;
    struct crash_points points = crash_choose_points(NULL, 3);
    struct fault_board *board = mmap(NULL, sizeof(*board),
                                     PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (test.backend->log_elsewhere && access("/dev/shm", W_OK) < 0) {
        g_test_skip("there is no /dev/shm");
        return;
    }
    g_assert_true(board != MAP_FAILED);
    test.board = board;
    g_test_message("%u points", crash_each_point(points, run_round, &test));
    munmap(board, sizeof(*board));
}

int main(int argc, char **argv)
{
    const struct world_backend *backends[] = { &world_folder,
                                               &world_folder_copy };

    umask(022);
    g_test_init(&argc, &argv, NULL);
    log_set_level(g_test_verbose() ? LOG_LEVEL_INFO : LOG_LEVEL_NONE);
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(acts) * G_N_ELEMENTS(edits); i++) {
        struct test *test = g_new0(struct test, 1);
        g_autofree char *path = NULL;

        test->backend = backends[i % 2];
        test->act = &acts[i / 2 % G_N_ELEMENTS(acts)];
        test->edit = &edits[i / 2 / G_N_ELEMENTS(acts)];
        path = g_strdup_printf("/crash-saves/%s/%s/%s", test->backend->name,
                               test->act->name, test->edit->name);
        g_test_add_data_func_full(path, test, run_test, g_free);
    }
    return g_test_run();
}
