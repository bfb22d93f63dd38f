/* SPDX-License-Identifier: Apache-2.0
 *
 * crash-links-test - an undo at the maximum number of links survives kills.
 *
 * It moves names out of the log, and gives up its redo, to have room for the
 * names that it restores. It is killed, or a call fails, at every point of
 * that; the next start must finish it. STEPBACK_CRASH_STRIDE=N takes every Nth
 * point only; all take some minutes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/interceptor.h"
#include "interceptor/sys/fault.h"
#include "interceptor/sys/sys.h"
#include "tests/crash/crash_points.h"
#include "tests/lib/loop_fs.h"
#include "tests/lib/world.h"

enum { MOST_LINKS = 65000 }; /* of ext4 */

#define OK(call) g_assert_cmpint((call), ==, 0)

static const struct loop_fs ext4 = { "ext4", "mkfs.ext4 -q -F -m 0", 64 << 20 };

static const char *const removed[] = { "many/1", "many/2", "many/3" };

static void fill(struct world *w)
{
    g_autofree char *path = world_host_path(w, "many/0");
    g_autofree char *many = world_host_path(w, "many");
    fd_auto int dir = -1;

    world_host_dir(w, "many");
    world_host_file(w, "many/0", "x");
    world_host_file(w, "other", "old");
    dir = open(many, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 1; i < MOST_LINKS; i++) {
        g_autofree char *name = g_strdup_printf("%d", i);

        OK(linkat(AT_FDCWD, path, dir, name, 0));
    }
}

/* adds: the step also adds a name. If not, it knows none that stays, and its
 * redo needs a link. */
static void make_step(struct world *w, bool adds)
{
    world_step(w);
    OK(w->backend->unlink(w, removed[0]));
    OK(w->backend->unlink(w, removed[1]));
    if (adds)
        OK(w->backend->link(w, "many/9", "new"));
    OK(w->backend->unlink(w, removed[2]));
    OK(w->backend->put(w, "other", 0, "new", 3, 0));
    world_end_step(w);
}

/* Undo in a child. force: over what another process wrote. */
static void undo_disturbed(struct world *w, bool force,
                           struct fault_board *board,
                           const struct fault_plan *plan)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (!world_folder_open(w, NULL))
            _exit(1);
        fault_use(board);
        fault_set(board, plan);
        ic_rollback(world_folder_ic(w), 1, force, NULL, NULL);
        fault_set(board, NULL);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
                                      : WEXITSTATUS(status) == 0);
}

static void assert_restored(struct world *w)
{
    g_autofree char *added = world_host_path(w, "new");
    g_autofree char *text = world_read(w, "other");
    g_autofree char *first = world_host_path(w, "many/0");
    struct stat st, name;

    OK(stat(first, &st));
    g_assert_cmpuint(st.st_nlink, ==, MOST_LINKS);
    for (size_t i = 0; i < G_N_ELEMENTS(removed); i++) {
        g_autofree char *path = world_host_path(w, removed[i]);

        OK(stat(path, &name));
        g_assert_cmpuint(name.st_ino, ==, st.st_ino);
    }
    g_assert_cmpstr(text, ==, "old");
    g_assert_cmpint(access(added, F_OK), ==, -1);
}

struct kind {
    const char *name;
    bool adds, force;
    enum fault_action action;
};

/* Each folder that an undo leaves in damaged/ adds a point to later undos. */
static void remove_rest(struct world *w)
{
    g_autofree char *path = g_build_filename(w->undo_dir, "damaged", NULL);

    sys_remove_tree(AT_FDCWD, path);
}

struct rounds {
    struct world *w;
    const struct kind *kind;
    struct fault_board *board;
};

static bool run_round(void *opaque, unsigned point)
{
    const struct rounds *rounds = opaque;
    const struct kind *kind = rounds->kind;
    const struct fault_plan plan = { kind->action, point, EIO };
    struct world *w = rounds->w;

    g_assert_true(world_start(w));
    make_step(w, kind->adds);
    w->backend->stop(w);
    if (kind->force)
        world_host_file(w, "other", "precious");
    undo_disturbed(w, kind->force, rounds->board, &plan);
    g_assert_true(world_start(w));
    /* The undo had not begun. */
    if (world_history_count(w) > 0)
        json_decref(world_request(
            w, "rollback",
            json_pack("{s:i, s:b}", "steps", 1, "force", kind->force)));
    assert_restored(w);
    w->backend->stop(w);
    remove_rest(w);
    return atomic_load(&rounds->board->fired) > 0;
}

static const struct kind kinds[] = {
    { "kill-where-a-name-was-added", true, false, FAULT_KILL_BEFORE },
    { "kill", false, false, FAULT_KILL_BEFORE },
    { "error", false, false, FAULT_ERRNO },
    { "kill-of-forced-undo", false, true, FAULT_KILL_BEFORE },
};

static void disturb_everywhere(gconstpointer data)
{
    const struct kind *kind = data;
    world_auto struct world *w = world_new(&world_folder);
    struct fault_board *board = mmap(NULL, sizeof(*board),
                                     PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct rounds rounds = { w, kind, board };

    g_assert_true(board != MAP_FAILED);
    if (!loop_fs_mount(w, &ext4)) {
        g_test_skip("no root, loop devices or mkfs for it");
        return;
    }
    fill(w);
    g_assert_cmpuint(
        crash_each_point(crash_choose_points(NULL, 1), run_round, &rounds), >,
        0);
    loop_fs_unmount(w);
    munmap(board, sizeof(*board));
}

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *path = g_strdup_printf("/crash-links/%s",
                                                kinds[i].name);

        g_test_add_data_func(path, &kinds[i], disturb_everywhere);
    }
    return g_test_run();
}
