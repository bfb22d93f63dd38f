/* SPDX-License-Identifier: Apache-2.0
 *
 * crash-write-test - ic_write_file() writes a file as a step, or leaves all as
 * it was.
 *
 * The process is killed before and after each call that changes something, and
 * each one fails, once or with all that follow. After the next start the tree
 * is what it was, or the step is in the history, the file is complete, and undo
 * restores the tree.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "interceptor/engine/engine.h"
#include "interceptor/sys/fault.h"
#include "tests/lib/world.h"

#define CONTENT "what was written"

static const struct write {
    const char *path;
    bool make_parents;
} writes[] = {
    { "new/a/b/file", true }, /* folders are made */
    { "dir/a/file", true },   /* one of them */
    { "kept", false },        /* a file is replaced */
};

/* "kept" has two names. */
static struct world *prepare(const struct world_backend *backend)
{
    struct world *w = world_new(backend);
    g_autofree char *kept = world_host_path(w, "kept");
    g_autofree char *second = world_host_path(w, "second");

    world_host_dir(w, "dir");
    world_host_file(w, "kept", "text before");
    g_assert_no_errno(link(kept, second));
    return w;
}

/* In a child process, which may be killed. */
static void write_disturbed(struct world *w, const struct write *write,
                            struct fault_board *board,
                            const struct fault_plan *plan)
{
    const struct ic_file_write request = {
        .path = write->path,
        .data = CONTENT,
        .len = strlen(CONTENT),
        .make_parents = write->make_parents
    };
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        bool ok = world_folder_open(w, NULL);

        fault_use(board);
        fault_set(board, plan);
        if (ok)
            ic_write_file(world_folder_ic(w), &request, NULL, NULL);
        fault_set(board, NULL);
        _exit(ok ? 0 : 1);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
}

/* Return whether the step is in the history. */
static bool check(struct world *w, const struct write *write, GPtrArray *before)
{
    g_autoptr(GPtrArray) steps = NULL;
    bool done;

    g_assert_true(world_folder_open(w, NULL));
    steps = ic_history(world_folder_ic(w), 10, NULL);
    g_assert_cmpuint(steps->len, <=, 1);
    done = steps->len == 1;
    if (done) {
        g_autofree char *text = world_read(w, write->path);

        g_assert_cmpstr(text, ==, CONTENT);
        g_assert_true(ic_rollback(world_folder_ic(w), 1, false, NULL, NULL));
    }
    w->backend->stop(w);
    world_assert_equal(w, before);
    return done;
}

static void disturb(const struct world_backend *backend,
                    const struct write *write, enum fault_action action)
{
    struct fault_board *board = mmap(NULL, sizeof(*board),
                                     PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct fault_plan plan = { action, 1, EIO };
    unsigned done = 0;

    g_assert_true(board != MAP_FAILED);
    do {
        world_auto struct world *w = prepare(backend);
        g_autoptr(GPtrArray) before = world_snapshot(w);

        write_disturbed(w, write, board, &plan);
        done += check(w, write, before);
        plan.point++;
    } while (board->fired);
    g_test_message("%s: %u points, %u steps", write->path, plan.point - 2,
                   done);
    g_assert_cmpuint(plan.point, >, 10);
    g_assert_cmpuint(done, >=, 1);
    munmap(board, sizeof(*board));
}

static void all_writes(const struct world_backend *backend,
                       enum fault_action action)
{
    for (size_t i = 0; i < G_N_ELEMENTS(writes); i++)
        disturb(backend, &writes[i], action);
}

static void killed(gconstpointer backend)
{
    all_writes(backend, FAULT_KILL_BEFORE);
    all_writes(backend, FAULT_KILL_AFTER);
}

static void failing(gconstpointer backend)
{
    all_writes(backend, FAULT_ERRNO);
    all_writes(backend, FAULT_ERRNO_FROM);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    log_set_level(g_test_verbose() ? LOG_LEVEL_INFO : LOG_LEVEL_NONE);
    g_test_add_data_func("/crash-write/killed/folder", &world_folder, killed);
    g_test_add_data_func("/crash-write/killed/folder-copy", &world_folder_copy,
                         killed);
    g_test_add_data_func("/crash-write/failing/folder", &world_folder, failing);
    g_test_add_data_func("/crash-write/failing/folder-copy", &world_folder_copy,
                         failing);
    return g_test_run();
}
