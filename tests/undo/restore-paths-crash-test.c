/* SPDX-License-Identifier: Apache-2.0
 *
 * restore-paths-crash-test - faults at any point of undo by path.
 *
 * The restore of paths is killed, or a system call of it fails.
 *
 * The folder is then as before, or, if the new step is in the history, as
 * requested; and the reply is true.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interceptor/interceptor.h"
#include "interceptor/sys/fault.h"
#include "tests/crash/crash_points.h"
#include "tests/lib/engine_trees.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

struct rig {
    struct world *w;
    struct fault_board *board; /* shared with the child */
    GPtrArray *after, *restored;
    const struct kind *kind;
};

struct kind {
    const char *name;
    enum fault_action action;
    int error;
    unsigned factor; /* with a stride: this many times fewer points */
};

static const struct kind kinds[] = {
    { "killed", FAULT_KILL_BEFORE, 0, 1 },
    { "torn-write", FAULT_TORN, 0, 2 },
    { "call-fails", FAULT_ERRNO, EIO, 1 },
    { "disk-full-from", FAULT_ERRNO_FROM, ENOSPC, 1 },
    { "look-fails", FAULT_LOOK_ERRNO, EIO, 2 },
    { "no-more-fds", FAULT_LOOK_ERRNO, EMFILE, 4 },
    { "list-fails", FAULT_LIST_ERRNO, EIO, 1 },
};

/* ---- the folder ---------------------------------------------------------- */

static void fill(struct world *w)
{
    g_autofree char *text = g_strnfill(300000, 'x');
    g_autofree char *big = world_host_path(w, "big");
    g_autofree char *name = world_host_path(w, "one-name");
    g_autofree char *other = world_host_path(w, "other-name");

    world_host_dir(w, "dir/sub");
    world_host_file(w, "dir/sub/file", "below");
    world_host_file(w, "dir/file", "in a folder");
    world_host_file(w, "big", text);
    world_host_file(w, "kind", "a file");
    world_host_file(w, "one-name", "two names");
    world_host_file(w, "bystander", "is not asked for");
    OK(link(name, other));
    OK(chmod(big, 0640));
}

static void change(struct world *w)
{
    engine_remove_tree(w, "dir");
    DO(rmdir, "dir");
    OK(w->backend->put(w, "big", 0, "in the middle", 13, 150000));
    DO(chmod, "big", 0600);
    DO(unlink, "kind");
    DO(mkdir, "kind", 0755);
    CREATE("kind/inside", "of a folder");
    DO(unlink, "one-name");
    DO(unlink, "other-name");
    WRITE("bystander", "is changed, too");
}

static bool restore(struct world *w)
{
    static const char *const paths[] = { "dir", "big", "kind", "one-name",
                                         "other-name" };
    const struct ic_restore request = { .step_id = 1,
                                        .paths = paths,
                                        .n = G_N_ELEMENTS(paths) };
    struct ic_rollback_result *result;
    gboolean ok = ic_restore_paths(world_folder_ic(w), &request, &result, NULL);

    ic_rollback_result_free(result);
    return ok;
}

static guint count_steps(struct world *w)
{
    g_autoptr(GPtrArray) steps = ic_history(world_folder_ic(w), 10, NULL);

    g_assert_nonnull(steps);
    return steps->len;
}

static void open_world(struct rig *r)
{
    g_autoptr(GError) error = NULL;

    world_folder_open(r->w, &error);
    g_assert_no_error(error);
}

/* Except the folder itself, which is not asked for: its time is that of the
 * last change. */
static void expect_restored(struct rig *r)
{
    g_autoptr(GPtrArray) now = world_snapshot(r->w);
    g_autofree char *root = g_strdup(g_ptr_array_index(r->restored, 0));
    g_autofree char *trouble = NULL;

    g_assert_true(g_str_has_prefix(root, ". dir"));
    g_ptr_array_remove_index(now, 0);
    g_ptr_array_remove_index(r->restored, 0);
    trouble = oracle_diff(r->restored, now);
    g_ptr_array_insert(r->restored, 0, g_steal_pointer(&root));
    g_assert_cmpstr(trouble, ==, NULL);
}

/* ---- one round ----------------------------------------------------------- */

/* In a child process: 0: it reported success, 1: an error, -1: it was killed.
 */
static int run_child(struct rig *r, const struct fault_plan *plan)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        bool ok;

        if (!world_folder_open(r->w, NULL))
            _exit(2);
        fault_use(r->board);
        fault_set(r->board, plan);
        ok = restore(r->w);
        fault_set(r->board, NULL);
        _exit(ok ? 0 : 1);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    if (WIFSIGNALED(status)) {
        g_assert_cmpint(WTERMSIG(status), ==, SIGKILL);
        return -1;
    }
    g_assert_cmpint(WEXITSTATUS(status), <=, 1);
    return WEXITSTATUS(status);
}

/* The next start has completed it, and its result can be undone. */
static void look_after(struct rig *r, int told)
{
    guint count;

    open_world(r);
    count = count_steps(r->w);
    g_test_message("told %d, %u steps", told, count);
    g_assert_true(count == 1 || count == 2);
    if (count == 2)
        expect_restored(r);
    else
        world_assert_equal(r->w, r->after);
    if (told >= 0)
        g_assert_cmpuint(count, ==, told == 0 ? 2 : 1);
    if (count == 2)
        g_assert_true(ic_rollback(world_folder_ic(r->w), 1, false, NULL, NULL));
    world_assert_equal(r->w, r->after);
    g_assert_cmpuint(count_steps(r->w), ==, 1);
    r->w->backend->stop(r->w);
}

static bool run_round(void *opaque, unsigned point)
{
    struct rig *r = opaque;
    const struct kind *kind = r->kind;
    const struct fault_plan plan = { kind->action, point, kind->error };
    int told = run_child(r, &plan);
    bool reached = told < 0 || r->board->fired > 0;

    g_test_message("%s at %u: %s %s", kind->name, point, r->board->call,
                   r->board->name);
    look_after(r, told);
    return reached;
}

/* ---- all points ---------------------------------------------------------- */

static void begin(struct rig *r, const struct world_backend *backend)
{
    struct ic *ic;

    *r = (struct rig){ .w = world_new(backend) };
    r->board = mmap(NULL, sizeof(*r->board), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_assert_true(r->board != MAP_FAILED);
    fill(r->w);
    open_world(r);
    ic = world_folder_ic(r->w);
    g_assert_true(ic_step_open(ic, 1, IC_STEP_COMMAND, "changes", NULL));
    change(r->w);
    g_assert_true(ic_step_close(ic, 1, 0, 0, 0, NULL, NULL));
    r->after = world_snapshot(r->w);
    g_assert_true(restore(r->w));
    r->restored = world_snapshot(r->w);
    g_assert_true(ic_rollback(ic, 1, false, NULL, NULL));
    world_assert_equal(r->w, r->after);
    r->w->backend->stop(r->w);
}

static void end(struct rig *r)
{
    g_ptr_array_unref(r->after);
    g_ptr_array_unref(r->restored);
    munmap(r->board, sizeof(*r->board));
    world_free(r->w);
}

struct bound {
    const struct kind *kind;
    const struct world_backend *backend;
};

/* After an error the next process must find the same folder, without
 * left-overs. */
static void disturb_everywhere(gconstpointer data)
{
    const struct bound *bound = data;
    struct crash_points points = crash_choose_points(NULL, bound->kind->factor);
    struct rig r;
    unsigned reached;

    begin(&r, bound->backend);
    r.kind = bound->kind;
    reached = crash_each_point(points, run_round, &r);
    g_test_message("%u points", reached);
    g_assert_cmpuint(reached, >, 0);
    end(&r);
}

int main(int argc, char **argv)
{
    static struct bound all[2 * G_N_ELEMENTS(kinds)];
    size_t n = 0;

    umask(022);
    g_test_init(&argc, &argv, NULL);
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
            const struct world_backend *backend = b ? &world_folder_copy
                                                    : &world_folder;
            g_autofree char *path = g_strdup_printf("/%s/%s", backend->name,
                                                    kinds[i].name);

            all[n] = (struct bound){ &kinds[i], backend };
            g_test_add_data_func(path, &all[n++], disturb_everywhere);
        }
    }
    return g_test_run();
}
