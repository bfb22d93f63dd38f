/* SPDX-License-Identifier: Apache-2.0
 *
 * crash-start-test - a start that cannot examine something misses nothing.
 *
 * It fails, or the engine then knows all that it must.
 *
 * Each stat-like call fails in turn, once, as in a process that may open no
 * more files; and so does each read of a directory, once or with all that
 * follow. Afterwards the log has lost nothing.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "interceptor/engine/engine.h"
#include "interceptor/sys/fault.h"
#include "tests/lib/world.h"

enum { STARTED, NOT_STARTED, WRONG };

/* "kept" has a name in the log and one in the folder; of the two steps the
 * newer one can be redone. */
static struct world *prepare(const struct world_backend *backend)
{
    struct world *w = world_new(backend);
    const struct world_backend *b = backend;
    struct ic *ic;

    world_host_file(w, "kept", "text");
    world_host_file(w, "gone", "text");
    g_assert_true(world_folder_open(w, NULL));
    ic = world_folder_ic(w);
    g_assert_cmpint(b->link(w, "kept", "second"), ==, 0);
    g_assert_true(ic_step_open(ic, 1, IC_STEP_COMMAND, "", NULL));
    g_assert_cmpint(b->unlink(w, "gone"), ==, 0);
    g_assert_cmpint(b->unlink(w, "second"), ==, 0);
    g_assert_true(ic_step_close(ic, 1, 0, 0, 0, NULL, NULL));
    g_assert_true(ic_step_open(ic, 2, IC_STEP_COMMAND, "", NULL));
    g_assert_cmpint(b->mkdir(w, "new", 0755), ==, 0);
    g_assert_true(ic_step_close(ic, 2, 0, 0, 0, NULL, NULL));
    g_assert_true(ic_rollback(ic, 1, false, NULL, NULL));
    b->stop(w);
    return w;
}

static bool knows_all(struct world *w)
{
    struct ic *ic = world_folder_ic(w);
    g_autoptr(GPtrArray) steps = ic_history(ic, 10, NULL);
    struct stat st;

    return steps && steps->len == 2 && ic_redoable(ic) == 1 &&
           w->backend->stat(w, "kept", &st) == 0 && st.st_nlink == 1;
}

/* In a child process; returns how it ended. */
static int start(struct world *w, struct fault_board *board,
                 enum fault_action action, unsigned point)
{
    const struct fault_plan plan = { action, point, EMFILE };
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        bool ok;

        fault_use(board);
        fault_set(board, &plan);
        ok = world_folder_open(w, NULL);
        fault_set(board, NULL);
        _exit(!ok ? NOT_STARTED : knows_all(w) ? STARTED : WRONG);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void every_point_fails(const struct world_backend *backend,
                              enum fault_action action)
{
    struct fault_board *board = mmap(NULL, sizeof(*board),
                                     PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned ended[WRONG] = { 0 }, point = 1;

    if (backend->log_elsewhere && access("/dev/shm", W_OK) < 0) {
        g_test_skip("there is no /dev/shm");
        return;
    }
    g_assert_true(board != MAP_FAILED);
    do {
        world_auto struct world *w = prepare(backend);
        int end = start(w, board, action, point);

        if (end == WRONG) {
            g_test_message("point %u: %s %s", point, board->call, board->name);
            g_test_fail();
        } else {
            ended[end]++;
        }
        g_assert_true(world_folder_open(w, NULL));
        g_assert_true(knows_all(w));
        backend->stop(w);
        point++;
    } while (board->fired);
    g_test_message("%u points: %u starts, %u failed", point, ended[STARTED],
                   ended[NOT_STARTED]);
    g_assert_cmpuint(ended[NOT_STARTED], >=, 1);
    munmap(board, sizeof(*board));
}

static void every_look_fails(gconstpointer backend)
{
    every_point_fails(backend, FAULT_LOOK_ERRNO);
}

static void every_listing_fails(gconstpointer backend)
{
    every_point_fails(backend, FAULT_LIST_ERRNO);
    every_point_fails(backend, FAULT_LIST_ERRNO_FROM);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    log_set_level(g_test_verbose() ? LOG_LEVEL_INFO : LOG_LEVEL_NONE);
    g_test_add_data_func("/crash-start/folder", &world_folder,
                         every_look_fails);
    g_test_add_data_func("/crash-start/folder-copy", &world_folder_copy,
                         every_look_fails);
    g_test_add_data_func("/crash-start/listing/folder", &world_folder,
                         every_listing_fails);
    g_test_add_data_func("/crash-start/listing/folder-copy", &world_folder_copy,
                         every_listing_fails);
    return g_test_run();
}
