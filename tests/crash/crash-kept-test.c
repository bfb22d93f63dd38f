/* SPDX-License-Identifier: Apache-2.0
 *
 * crash-kept-test - content that is put aside without asking survives kills.
 *
 * The tree need not be exact here: a file that another process put into a
 * directory of the step is put aside with it when the step is denied, and what
 * a rollback that cannot be completed has not restored is put aside when it is
 * given up. The engine is killed at every point of that, with disk space and
 * without. The content must then be in the folder or in the log.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interceptor/engine/engine.h"
#include "interceptor/log/step_mark.h"
#include "interceptor/sys/fault.h"
#include "tests/lib/world.h"

#define TEXT "nobody else has this"

struct kept {
    struct world *w;
    struct fault_board *board; /* shared with the act's process */
    struct fault_plan plan;
};

static void put(struct kept *k, const char *path, const char *text)
{
    g_autofree char *full = world_host_path(k->w, path);

    g_assert_true(g_file_set_contents(full, text, -1, NULL));
}

static bool is_found(const char *where, const char *text)
{
    const char *argv[] = { "grep", "-rqs", text, where, NULL };
    int status;

    g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH,
                               NULL, NULL, NULL, NULL, &status, NULL));
    return status == 0;
}

/* ---- acts, in a child process -------------------------------------------- */

static void start_plan(struct kept *k)
{
    fault_use(k->board);
    fault_set(k->board, &k->plan);
    fault_fill(k->board);
}

static void deny_step(struct kept *k)
{
    const struct world_backend *b = k->w->backend;
    struct ic *ic = world_folder_ic(k->w);

    ic_step_open(ic, 1, IC_STEP_COMMAND, "denied", NULL);
    b->put(k->w, "first", 0, "written by the step", 19, 0);
    b->mkdir(k->w, "new", 0755);
    put(k, "new/theirs", TEXT);
    b->rename(k->w, "first", "new/first", 0);
    start_plan(k);
    ic_step_abort(ic, 1, NULL);
}

/* Half a rollback, which is then given up. */
static void give_up(struct kept *k)
{
    const struct world_backend *b = k->w->backend;
    struct ic *ic = world_folder_ic(k->w);
    struct fault_plan fails = { FAULT_ERRNO_FROM, 12, EIO };

    ic_step_open(ic, 1, IC_STEP_COMMAND, "removes", NULL);
    b->unlink(k->w, "first");
    b->unlink(k->w, "second");
    b->mkdir(k->w, "new", 0755);
    ic_step_close(ic, 1, 0, 0, 0, NULL, NULL);
    fault_use(k->board);
    fault_set(k->board, &fails);
    g_assert_false(ic_rollback(ic, 1, false, NULL, NULL));
    start_plan(k);
    ic_discard(ic, NULL);
}

static bool run_act(struct kept *k, void (*act)(struct kept *k))
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (!world_folder_open(k->w, NULL))
            _exit(1);
        act(k);
        fault_set(k->board, NULL);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
                                      : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

/* ---- checks -------------------------------------------------------------- */

/* Until the history has a barrier, it is unknown after a kill that the file is
 * not the step's. */
static bool is_noted(struct kept *k)
{
    g_autofree char *path = g_build_filename(k->w->undo_dir, "history.jsonl",
                                             NULL);
    g_autofree char *record = g_build_filename(
        k->w->undo_dir, "wal/in_progress/manifest.jsonl", NULL);
    struct stat st;

    return is_found(path, "new/theirs") ||
           (stat(record, &st) == 0 && st.st_mode & STEP_MARK_FOREIGN);
}

static bool look_denied(struct kept *k, bool killed)
{
    bool noted = !killed || is_noted(k);
    g_autoptr(GError) error = NULL;

    world_folder_open(k->w, &error);
    g_assert_no_error(error);
    if (noted)
        g_assert_true(is_found(k->w->base, TEXT));
    g_assert_true(is_found(k->w->share, "the first"));
    return noted;
}

static bool look_given_up(struct kept *k, bool killed G_GNUC_UNUSED)
{
    g_autoptr(GError) error = NULL;

    world_folder_open(k->w, &error);
    g_assert_no_error(error);
    g_assert_true(is_found(k->w->base, "the first"));
    g_assert_true(is_found(k->w->base, "the second"));
    return true;
}

/* ---- all points ---------------------------------------------------------- */

struct kind {
    const char *name;
    void (*act)(struct kept *k);
    /* True: this round was significant. */
    bool (*look)(struct kept *k, bool killed);
    enum fault_action action;
    int error;
};

static const struct kind kinds[] = {
    { "denied", deny_step, look_denied, FAULT_KILL_BEFORE, 0 },
    { "denied-without-inodes", deny_step, look_denied, FAULT_FULL, ENOSPC },
    { "denied-without-room", deny_step, look_denied, FAULT_FULL, EDQUOT },
    { "given-up", give_up, look_given_up, FAULT_KILL_BEFORE, 0 },
    { "given-up-without-inodes", give_up, look_given_up, FAULT_FULL, ENOSPC },
};

static bool run_round(const struct kind *kind, struct fault_board *board,
                      unsigned point, unsigned *shown)
{
    struct kept k = {
        .w = world_new(&world_folder),
        .board = board,
        .plan = { kind->action, point, kind->error },
    };
    bool killed;

    world_host_file(k.w, "first", "the first");
    world_host_file(k.w, "second", "the second");
    killed = run_act(&k, kind->act);
    *shown += kind->look(&k, killed);
    k.w->backend->stop(k.w);
    world_free(k.w);
    return killed;
}

static void kill_everywhere(gconstpointer data)
{
    const struct kind *kind = data;
    struct fault_board *board = mmap(NULL, sizeof(*board),
                                     PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned point = 1, shown = 0;

    g_assert_true(board != MAP_FAILED);
    while (run_round(kind, board, point, &shown))
        point++;
    g_test_message("killed at %u points; %u rounds count", point - 1, shown);
    g_assert_cmpuint(shown, >=, 1);
    munmap(board, sizeof(*board));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *path = g_strdup_printf("/crash-kept/%s",
                                                kinds[i].name);

        g_test_add_data_func(path, &kinds[i], kill_everywhere);
    }
    return g_test_run();
}
