/* SPDX-License-Identifier: Apache-2.0
 *
 * crash-closed-test - undo returns the modes of folders that it had to open.
 *
 * A step closes a folder to its owner, and the next writes files below it that
 * are still open. The file server may enter the folder; undo, which runs
 * without one, may not. It opens the folder, of which the second step has no
 * metadata. It is killed, or a call fails, at every point. Root prepares the
 * tree and compares; children do the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/interceptor.h"
#include "interceptor/sys/fault.h"
#include "interceptor/sys/sys.h"

enum { USER = 12345 };

#define OK(call) g_assert_cmpint((call), ==, 0)

struct kind {
    const char *name;
    mode_t mode; /* of the closed folder */
    enum fault_action action;
};

struct rig {
    const struct kind *kind;
    char *base, *share, *undo;
    struct fault_board *board; /* shared with the children */
    struct fault_plan plan;
};

static const char *const files[] = { "d/s/f", "d/s/k/f" };

/* ---- by root ------------------------------------------------------------- */

static char *host_path(const struct rig *rig, const char *name)
{
    return g_build_filename(rig->share, name, NULL);
}

static void make_tree(const struct rig *rig)
{
    static const char *const dirs[] = { "", "d", "d/s", "d/s/k" };

    OK(chmod(rig->base, 0755));
    OK(mkdir(rig->undo, 0700));
    OK(chown(rig->undo, USER, USER));
    for (size_t i = 0; i < G_N_ELEMENTS(dirs); i++) {
        g_autofree char *path = host_path(rig, dirs[i]);

        OK(mkdir(path, 0755));
        OK(chown(path, USER, USER));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = host_path(rig, files[i]);

        g_assert_true(g_file_set_contents(path, "before", -1, NULL));
        OK(chown(path, USER, USER));
    }
}

static mode_t mode_of(const struct rig *rig)
{
    g_autofree char *path = host_path(rig, "d/s");
    struct stat st;

    OK(stat(path, &st));
    return st.st_mode & 07777;
}

static bool has_text(const struct rig *rig, const char *name, const char *text)
{
    g_autofree char *path = host_path(rig, name);
    g_autofree char *found = NULL;

    g_assert_true(g_file_get_contents(path, &found, NULL, NULL));
    return strcmp(found, text) == 0;
}

/* ---- by the user --------------------------------------------------------- */

static struct ic *open_share(const struct rig *rig)
{
    const struct ic_options options = { .share = rig->share,
                                        .undo_dir = rig->undo,
                                        .no_timer = true,
                                        .no_watch = true };
    GError *error = NULL;
    struct ic *ic = ic_open_share(&options, &error);

    g_assert_no_error(error);
    return ic;
}

static struct ic_inode *look_up(struct ic *ic, const char *path)
{
    g_auto(GStrv) names = g_strsplit(path, "/", -1);
    struct ic_inode *at = ic_inode_ref(ic_root(ic));

    for (char **name = names; *name; name++) {
        struct ic_inode *dir = at;

        OK(ic_lookup(ic, dir, *name, &at, NULL));
        ic_inode_unref(dir);
    }
    return at;
}

static void end_step(struct ic *ic, int64_t id)
{
    GError *error = NULL;

    ic_step_close(ic, id, 0, 0, 0, NULL, &error);
    g_assert_no_error(error);
}

static void make_steps(struct rig *rig)
{
    const struct ic_setattr closed = { .valid = IC_SET_MODE,
                                       .mode = rig->kind->mode };
    struct iovec iov = { (char *)"changed", 7 };
    struct ic *ic = open_share(rig);
    struct ic_inode *inodes[G_N_ELEMENTS(files)];
    struct ic_inode *dir = look_up(ic, "d/s");
    int fds[G_N_ELEMENTS(files)];

    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        inodes[i] = look_up(ic, files[i]);
        OK(ic_open(ic, inodes[i], O_WRONLY, &fds[i]));
    }
    g_assert_true(ic_step_open(ic, 1, IC_STEP_COMMAND, "closes", NULL));
    OK(ic_setattr(ic, dir, -1, &closed, NULL));
    end_step(ic, 1);
    g_assert_true(ic_step_open(ic, 2, IC_STEP_COMMAND, "writes", NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_assert_cmpint(ic_pwritev(ic, inodes[i], fds[i], &iov, 1, 0, 0, true),
                        ==, 7);
        close(fds[i]);
        ic_inode_unref(inodes[i]);
    }
    end_step(ic, 2);
    ic_inode_unref(dir);
    ic_close(ic);
}

static void undo_disturbed(struct rig *rig)
{
    struct ic *ic = open_share(rig);

    fault_use(rig->board);
    fault_set(rig->board, &rig->plan);
    ic_rollback(ic, 1, false, NULL, NULL);
    fault_set(rig->board, NULL);
    ic_close(ic);
}

/* A step that was interrupted is finished. */
static void start(struct rig *rig)
{
    ic_close(open_share(rig));
}

static void undo(struct rig *rig)
{
    struct ic *ic = open_share(rig);
    GError *error = NULL;

    ic_rollback(ic, 1, false, NULL, &error);
    g_assert_no_error(error);
    ic_close(ic);
}

/* Like a file server in a user namespace, which enters closed folders. */
static void keep_rights(void)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2] = { 0 };

    data[0].permitted = data[0].effective = 1U << CAP_DAC_READ_SEARCH;
    OK(syscall(SYS_capset, &header, data));
}

static void as_user(struct rig *rig, void (*run)(struct rig *rig))
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        OK(setgroups(0, NULL));
        OK(setresgid(USER, USER, USER));
        OK(prctl(PR_SET_KEEPCAPS, run == make_steps));
        OK(setresuid(USER, USER, USER));
        if (run == make_steps)
            keep_rights();
        OK(prctl(PR_SET_DUMPABLE, 1)); /* take /proc/self back (proc(5)) */
        run(rig);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
                                      : WEXITSTATUS(status) == 0);
}

/* ---- all points ---------------------------------------------------------- */

static bool run_round(const struct kind *kind, struct fault_board *board,
                      unsigned point)
{
    struct rig rig = { .kind = kind,
                       .base = g_dir_make_tmp("stepback-test-XXXXXX", NULL),
                       .board = board,
                       .plan = { kind->action, point, EIO } };

    rig.share = g_build_filename(rig.base, "share", NULL);
    rig.undo = g_build_filename(rig.base, "undo", NULL);
    make_tree(&rig);
    as_user(&rig, make_steps);
    g_assert_cmpint(mode_of(&rig), ==, kind->mode);
    as_user(&rig, undo_disturbed);
    if (kind->action == FAULT_ERRNO)
        g_assert_cmpint(mode_of(&rig), ==, kind->mode);
    as_user(&rig, start);
    if (has_text(&rig, files[0], "changed"))
        as_user(&rig, undo);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        g_assert_true(has_text(&rig, files[i], "before"));
    g_assert_cmpint(mode_of(&rig), ==, kind->mode);
    as_user(&rig, undo);
    g_assert_cmpint(mode_of(&rig), ==, 0755);
    sys_remove_tree(AT_FDCWD, rig.base);
    g_free(rig.base);
    g_free(rig.share);
    g_free(rig.undo);
    return atomic_load(&board->fired) > 0;
}

static void disturb_everywhere(gconstpointer data)
{
    struct fault_board *board = mmap(NULL, sizeof(*board),
                                     PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned point = 1;

    if (geteuid() != 0) {
        g_test_skip("needs root");
        return;
    }
    g_assert_true(board != MAP_FAILED);
    while (run_round(data, board, point))
        point++;
    g_test_message("%u points", point - 1);
    g_assert_cmpuint(point, >, 10);
    munmap(board, sizeof(*board));
}

static const struct kind kinds[] = {
    { "kill-where-none-may-search", 0600, FAULT_KILL_BEFORE },
    { "kill-where-nothing-is-allowed", 0, FAULT_KILL_BEFORE },
    { "error-where-none-may-search", 0600, FAULT_ERRNO },
    { "error-where-nothing-is-allowed", 0, FAULT_ERRNO },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *path = g_strdup_printf("/crash-closed/%s",
                                                kinds[i].name);

        g_test_add_data_func(path, &kinds[i], disturb_everywhere);
    }
    return g_test_run();
}
