/* SPDX-License-Identifier: Apache-2.0
 *
 * project-test - undo across projects (xfs_quota(8), chattr(1)).
 *
 * A directory that passes its project on admits no inode of another project:
 * rename(2) and link(2) return EXDEV. What existed before its directory had a
 * project, and what the log's directory passes its own project to, must come
 * back nevertheless. XFS has projects without quotas, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/interceptor.h"
#include "interceptor/sys/fault.h"
#include "tests/lib/engine_trees.h"
#include "tests/lib/loop_fs.h"

static const struct loop_fs xfs = { "xfs", "mkfs.xfs -q", (off_t)320 << 20 };

static void set_project(const char *path, unsigned id, bool inherit)
{
    fd_auto int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct fsxattr attr;

    g_assert_cmpint(fd, >=, 0);
    OK(ioctl(fd, FS_IOC_FSGETXATTR, &attr));
    attr.fsx_projid = id;
    if (inherit)
        attr.fsx_xflags |= FS_XFLAG_PROJINHERIT;
    else
        attr.fsx_xflags &= ~(unsigned)FS_XFLAG_PROJINHERIT;
    OK(ioctl(fd, FS_IOC_FSSETXATTR, &attr));
}

static void set_project_of(struct world *w, const char *name, unsigned id,
                           bool inherit)
{
    g_autofree char *path = world_host_path(w, name);

    set_project(path, id, inherit);
}

static char *project_of(struct world *w, const char *name)
{
    g_autofree char *path = world_host_path(w, name);
    fd_auto int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct fsxattr attr;

    if (fd < 0)
        return g_strdup("none");
    OK(ioctl(fd, FS_IOC_FSGETXATTR, &attr));
    return g_strdup_printf("%u%s", attr.fsx_projid,
                           attr.fsx_xflags & FS_XFLAG_PROJINHERIT ? "+" : "");
}

static void fill(struct world *w)
{
    g_autofree char *link_path = world_host_path(w, "d/symlink");
    g_autofree char *pipe_path = world_host_path(w, "d/pipe");
    g_autofree char *from = world_host_path(w, "d/linked");
    g_autofree char *to = world_host_path(w, "e/linked");

    world_host_dir(w, "d");
    world_host_dir(w, "d/empty");
    world_host_dir(w, "d/sub");
    world_host_dir(w, "e");
    world_host_file(w, "d/removed", "removed");
    world_host_file(w, "d/moved", "moved");
    world_host_file(w, "d/replaced", "replaced");
    world_host_file(w, "d/written", "written");
    world_host_file(w, "d/linked", "linked");
    world_host_file(w, "d/sub/f", "f");
    world_host_file(w, "e/mine", "mine");
    OK(link(from, to));
    OK(symlink("target", link_path));
    OK(mkfifo(pipe_path, 0600));
}

/* Make directories of two projects, with files of none; and one below them that
 * passes its own on. */
static void give_projects(struct world *w)
{
    set_project_of(w, "d", 5, true);
    set_project_of(w, "d/sub", 6, true);
    set_project_of(w, "e/mine", 8, false);
}

static void change(struct world *w)
{
    OK(w->backend->unlink(w, "d/removed"));
    DO(rename, "d/moved", "e/moved", 0);
    CREATE("d/new", "new");
    DO(rename, "d/new", "d/replaced", 0);
    WRITE("d/written", "other");
    OK(w->backend->unlink(w, "d/linked"));
    OK(w->backend->unlink(w, "d/symlink"));
    OK(w->backend->unlink(w, "d/pipe"));
    OK(w->backend->rmdir(w, "d/empty"));
    OK(w->backend->unlink(w, "d/sub/f"));
    DO(rename, "d/sub", "e/sub", 0);
    DO(mkdir, "d/dir", 0755);
    CREATE("d/dir/f", "made");
    CREATE("e/made", "made");
}

static void assert_projects(struct world *w)
{
    static const struct {
        const char *name, *project;
    } known[] = {
        { "d", "5+" },      { "d/sub", "6+" },    { "e/mine", "8" },
        { "d/moved", "0" }, { "d/written", "0" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        g_autofree char *project = project_of(w, known[i].name);

        g_test_message("%s", known[i].name);
        g_assert_cmpstr(project, ==, known[i].project);
    }
}

/* Undo, redo, and undo again; and interrupt the step. */
static void run_all(struct world *w)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);
    g_autoptr(GPtrArray) after = NULL;

    world_step(w);
    change(w);
    world_end_step(w);
    after = world_snapshot(w);
    world_undo_to(w, 1, before);
    assert_projects(w);
    world_redo_to(w, 1, after);
    world_undo_to(w, 1, before);
    assert_projects(w);
    world_step(w);
    change(w);
    w->backend->kill(w);
    if (world_start(w)) {
        world_assert_equal(w, before);
        assert_projects(w);
    }
}

static void run(const struct world_backend *backend,
                void (*prepare)(struct world *w))
{
    world_auto struct world *w = world_new(backend);

    if (!loop_fs_mount(w, &xfs)) {
        g_test_skip("no root, loop devices or mkfs for it");
    } else {
        prepare(w);
        if (world_start(w))
            run_all(w);
    }
    if (w->state)
        w->backend->stop(w);
    loop_fs_unmount(w);
}

static void prepare_share(struct world *w)
{
    fill(w);
    give_projects(w);
}

static void prepare_root(struct world *w)
{
    fill(w);
    give_projects(w);
    set_project(w->share, 9, true);
}

static void prepare_log(struct world *w)
{
    fill(w);
    give_projects(w);
    set_project(w->base, 7, true);
}

/* A log that was begun before the engine handled projects. */
static void prepare_old_log(struct world *w)
{
    g_autofree char *steps = g_build_filename(w->undo_dir, "steps", NULL);

    prepare_share(w);
    if (!world_start(w))
        return;
    w->backend->stop(w);
    set_project(w->undo_dir, 7, true);
    set_project(steps, 7, true);
}

static void in_share(gconstpointer backend)
{
    run(backend, prepare_share);
}

static void of_root(gconstpointer backend)
{
    run(backend, prepare_root);
}

static void of_log(gconstpointer backend)
{
    run(backend, prepare_log);
}

static void of_old_log(gconstpointer backend)
{
    const struct world_backend *b = backend;

    if (b->log_elsewhere)
        g_test_skip("not of a log that is elsewhere");
    else
        run(backend, prepare_old_log);
}

/* ---- killed in an undo --------------------------------------------------- */

#ifdef STEPBACK_FAULT_INJECTION

/* In a child: make a step, and die at that point of its undo. */
static void die_in_undo(struct world *w, unsigned point)
{
    const struct fault_plan plan = { .action = FAULT_KILL_BEFORE,
                                     .point = point };
    static struct fault_board board;
    struct ic *ic;

    g_assert_true(world_folder_open(w, NULL));
    ic = world_folder_ic(w);
    g_assert_true(ic_step_open(ic, point, IC_STEP_COMMAND, "x", NULL));
    change(w);
    g_assert_true(ic_step_close(ic, point, 0, 0, 0, NULL, NULL));
    fault_use(&board);
    fault_set(&board, &plan);
    g_assert_true(ic_rollback(ic, 1, false, NULL, NULL));
    _exit(0);
}

static bool kill_undo(struct world *w, unsigned point)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        die_in_undo(w, point);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(status == 0 ||
                  (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    return status != 0;
}

/* Directories that were opened to other projects pass theirs on again. */
static void killed(gconstpointer backend)
{
    world_auto struct world *w = world_new(backend);
    g_autoptr(GPtrArray) before = NULL;

    if (!loop_fs_mount(w, &xfs)) {
        g_test_skip("no root, loop devices or mkfs for it");
    } else {
        prepare_root(w);
        before = world_snapshot(w);
        for (unsigned point = 1; kill_undo(w, point); point++) {
            g_assert_true(world_folder_open(w, NULL));
            /* In case it had not begun. */
            ic_rollback(world_folder_ic(w), 1, false, NULL, NULL);
            world_assert_equal(w, before);
            assert_projects(w);
            w->backend->stop(w);
        }
    }
    loop_fs_unmount(w);
}

#endif

/* ---- users who may not set projects -------------------------------------- */

enum { USER = 12345 };

struct attempt {
    const char *dir;
    int in_namespace; /* expected when its file is removed there */
};

/* Enter a user namespace without other users, like the sandbox's. */
static bool enter_namespace(void)
{
    static const struct {
        const char *path, *text;
    } files[] = {
        { "/proc/self/uid_map", "12345 12345 1" },
        { "/proc/self/setgroups", "deny" },
        { "/proc/self/gid_map", "12345 12345 1" },
    };

    if (unshare(CLONE_NEWUSER) < 0)
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        fd_auto int fd = open(files[i].path, O_WRONLY);

        g_assert_cmpint(write(fd, files[i].text, strlen(files[i].text)), >, 0);
    }
    return true;
}

static int remove_file(struct ic *ic, const char *dir_name)
{
    struct ic_inode *dir;
    int rc;

    OK(ic_lookup(ic, ic_root(ic), dir_name, &dir, NULL));
    rc = ic_unlinkat(ic, dir, "f", 0);
    ic_inode_unref(dir);
    return rc;
}

/* In a child: whatever can be undone is done and undone, the rest is refused.
 */
static void attempt_all(struct world *w, const struct attempt *attempts,
                        size_t count, bool inside)
{
    struct ic_options options = { .share = w->share,
                                  .undo_dir = w->undo_dir,
                                  .no_timer = true,
                                  .no_watch = true };
    GError *error = NULL;
    struct ic *ic;

    OK(setgroups(0, NULL));
    OK(setresgid(USER, USER, USER));
    OK(setresuid(USER, USER, USER));
    OK(prctl(PR_SET_DUMPABLE, 1)); /* take /proc/self back (proc(5)) */
    if (inside && !enter_namespace())
        _exit(77);
    ic = ic_open_share(&options, &error);
    g_assert_no_error(error);
    g_assert_true(ic_step_open(ic, inside ? 2 : 1, IC_STEP_COMMAND, "x", NULL));
    for (size_t i = 0; i < count; i++)
        g_assert_cmpint(remove_file(ic, attempts[i].dir), ==,
                        inside ? attempts[i].in_namespace : 0);
    ic_step_close(ic, inside ? 2 : 1, 0, 0, 0, NULL, &error);
    g_assert_no_error(error);
    ic_rollback(ic, 1, false, NULL, &error);
    g_assert_no_error(error);
    ic_close(ic);
    _exit(0);
}

static void run_attempts(struct world *w, const struct attempt *attempts,
                         size_t count, bool inside)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);
    pid_t pid = fork();
    int status;

    if (pid == 0)
        attempt_all(w, attempts, count, inside);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        g_test_message("no user namespaces here");
        return;
    }
    OK(status);
    world_assert_equal(w, before);
}

/* Make a directory of the user's, with a file of that project. */
static void fill_one(struct world *w, const char *name, unsigned dir,
                     unsigned file)
{
    g_autofree char *path = g_strdup_printf("%s/f", name);
    g_autofree char *full_dir = world_host_path(w, name);
    g_autofree char *full = world_host_path(w, path);

    world_host_dir(w, name);
    world_host_file(w, path, "f");
    OK(chown(full_dir, USER, USER));
    OK(chown(full, USER, USER));
    set_project(full, file, false);
    set_project(full_dir, dir, dir > 0);
}

static void as_user(struct world *w)
{
    bool elsewhere = w->backend->log_elsewhere;
    const struct attempt attempts[] = {
        { "plain", 0 },
        { "own", elsewhere ? -EPERM : 0 }, /* it would be made anew */
        { "other", -EPERM },
    };

    OK(g_mkdir_with_parents(w->undo_dir, 0755));
    OK(chown(w->undo_dir, USER, USER));
    OK(chown(w->share, USER, USER));
    OK(chmod(w->base, 0755));
    fill_one(w, "plain", 0, 0);
    fill_one(w, "own", 5, 5);
    fill_one(w, "other", 5, 0);
    run_attempts(w, attempts, G_N_ELEMENTS(attempts), false);
    run_attempts(w, attempts, G_N_ELEMENTS(attempts), true);
}

static void of_user(gconstpointer backend)
{
    world_auto struct world *w = world_new(backend);

    if (loop_fs_mount(w, &xfs))
        as_user(w);
    else
        g_test_skip("no root, loop devices or mkfs for it");
    loop_fs_unmount(w);
}

int main(int argc, char **argv)
{
    static const struct world_case cases[] = {
        { "share", in_share },
        { "root", of_root },
        { "log", of_log },
        { "old-log", of_old_log },
    };

    umask(022);
    g_test_init(&argc, &argv, NULL);
    /* In a private mount namespace no mount outlives the test. */
    if (unshare(CLONE_NEWNS) == 0)
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    world_add_cases("/project", WORLD_WITHOUT_9P, cases, G_N_ELEMENTS(cases));
#ifdef STEPBACK_FAULT_INJECTION
    g_test_add_data_func("/project/folder/killed", &world_folder, killed);
    g_test_add_data_func("/project/folder-copy/killed", &world_folder_copy,
                         killed);
#endif
    g_test_add_data_func("/project/folder/user", &world_folder, of_user);
    g_test_add_data_func("/project/folder-copy/user", &world_folder_copy,
                         of_user);
    return g_test_run();
}
