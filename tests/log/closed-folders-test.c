/* SPDX-License-Identifier: Apache-2.0
 *
 * closed-folders-test - recovery in directories closed by a step.
 *
 * The step has removed all access to them (chmod 000).
 *
 * They are an ordinary user's, and closed to their owner, too. A step that was
 * killed in them is rolled back nevertheless. Modes do not stop root, so a
 * child that is not root runs the test.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "interceptor/interceptor.h"

enum { NOBODY = 65534 };

#define OK(call) g_assert_cmpint((call), ==, 0)

struct rig {
    char *base, *share, *undo;
    struct ic *ic;
};

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

static void host_write(const struct rig *rig, const char *name,
                       const char *text)
{
    g_autofree char *path = g_build_filename(rig->share, name, NULL);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static struct ic_inode *look_up(struct rig *rig, struct ic_inode *dir,
                                const char *name)
{
    struct ic_inode *inode;

    OK(ic_lookup(rig->ic, dir, name, &inode, NULL));
    return inode;
}

static void set_mode(struct rig *rig, struct ic_inode *inode, mode_t mode)
{
    struct ic_setattr attr = { .valid = IC_SET_MODE, .mode = mode };

    OK(ic_setattr(rig->ic, inode, -1, &attr, NULL));
}

/* ---- changes of the step ------------------------------------------------- */

static void remove_then_close(struct rig *rig, struct ic_inode *dir)
{
    OK(ic_unlinkat(rig->ic, dir, "f", 0));
    set_mode(rig, dir, 0);
}

static void create_then_close(struct rig *rig, struct ic_inode *dir)
{
    struct ic_cred cred = { geteuid(), getegid(), 0 };
    struct ic_inode *inode;

    OK(ic_mkdirat(rig->ic, &cred, dir, "new", 0700, &inode, NULL));
    set_mode(rig, inode, 0);
    ic_inode_unref(inode);
    set_mode(rig, dir, 0);
}

static void close_root(struct rig *rig, struct ic_inode *dir)
{
    OK(ic_unlinkat(rig->ic, dir, "f", 0));
    set_mode(rig, ic_root(rig->ic), 0);
}

static void move_out_then_close(struct rig *rig, struct ic_inode *dir)
{
    OK(ic_renameat2(rig->ic, dir, "f", ic_root(rig->ic), "g", 0));
    set_mode(rig, dir, 0);
}

static void set_note(const struct rig *rig)
{
    g_autofree char *path = g_build_filename(rig->share, "d", "f", NULL);

    g_assert_true(setxattr(path, "user.note", "x", 1, 0) == 0 ||
                  errno == ENOTSUP);
}

/* Its attributes can then be neither read nor set. */
static void close_file(struct rig *rig, struct ic_inode *dir, mode_t mode)
{
    struct ic_inode *file = look_up(rig, dir, "f");

    set_mode(rig, file, mode);
    ic_inode_unref(file);
}

static void close_noted(struct rig *rig, struct ic_inode *dir)
{
    set_note(rig);
    close_file(rig, dir, 0);
}

static void close_noted_to_reading(struct rig *rig, struct ic_inode *dir)
{
    set_note(rig);
    close_file(rig, dir, 0200);
}

/* ---- running ------------------------------------------------------------- */

static void check(const struct rig *rig)
{
    g_autofree char *dir = g_build_filename(rig->share, "d", NULL);
    g_autofree char *file = g_build_filename(dir, "f", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GDir) list = NULL;
    struct stat st;

    OK(stat(rig->share, &st));
    g_assert_cmpint(st.st_mode & 07777, ==, 0750);
    OK(stat(dir, &st));
    g_assert_cmpint(st.st_mode & 07777, ==, 0710);
    g_assert_true(g_file_get_contents(file, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "before");
    list = g_dir_open(dir, 0, NULL);
    g_assert_cmpstr(g_dir_read_name(list), ==, "f");
    g_assert_null(g_dir_read_name(list));
}

static void make_share(const struct rig *rig)
{
    g_autofree char *dir = g_build_filename(rig->share, "d", NULL);

    OK(mkdir(rig->share, 0750));
    OK(mkdir(dir, 0710));
    host_write(rig, "d/f", "before");
}

/* As an ordinary user: a step, its death, and the next start. */
static void die(struct rig *rig,
                void (*change)(struct rig *rig, struct ic_inode *dir))
{
    pid_t pid;
    int status;

    make_share(rig);
    pid = fork();
    if (pid == 0) {
        struct ic_inode *inode;

        rig->ic = open_share(rig);
        g_assert_true(ic_step_open(rig->ic, 1, IC_STEP_COMMAND, "x", NULL));
        inode = look_up(rig, ic_root(rig->ic), "d");
        change(rig, inode);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    OK(status);
    rig->ic = open_share(rig);
    g_assert_nonnull(ic_recovered(rig->ic));
    check(rig);
    ic_close(rig->ic);
}

/* As an ordinary user: a step, and its undo, which cannot read what the step
 * has made and closed, and so keeps none of it. */
static void undo(struct rig *rig,
                 void (*change)(struct rig *rig, struct ic_inode *dir))
{
    struct ic_rollback_result *result = NULL;
    struct ic_inode *inode;
    GError *error = NULL;

    make_share(rig);
    rig->ic = open_share(rig);
    g_assert_true(ic_step_open(rig->ic, 1, IC_STEP_COMMAND, "x", NULL));
    inode = look_up(rig, ic_root(rig->ic), "d");
    change(rig, inode);
    ic_inode_unref(inode);
    g_assert_true(ic_step_close(rig->ic, 1, 0, 0, 0, NULL, NULL));
    ic_rollback_steps(rig->ic, 1, false, &result, &error);
    g_assert_no_error(error);
    check(rig);
    g_assert_cmpuint(result->warnings->len, ==, 1);
    g_assert_cmpstr(g_ptr_array_index(result->warnings, 0), ==,
                    "step 1 cannot be redone: the undo log could not keep its "
                    "changes");
    ic_rollback_result_free(result);
    ic_close(rig->ic);
}

static void become_nobody(const struct rig *rig)
{
    if (geteuid() != 0)
        return;
    OK(chown(rig->base, NOBODY, NOBODY));
    OK(setgroups(0, NULL));
    OK(setresgid(NOBODY, NOBODY, NOBODY));
    OK(setresuid(NOBODY, NOBODY, NOBODY));
}

struct test_case {
    const char *path;
    void (*run)(struct rig *rig,
                void (*change)(struct rig *rig, struct ic_inode *dir));
    void (*change)(struct rig *rig, struct ic_inode *dir);
};

static void test(gconstpointer data)
{
    const struct test_case *it = data;
    struct rig rig = { .base = g_dir_make_tmp("stepback-test-XXXXXX", NULL) };
    char *argv[] = { (char *)"rm", (char *)"-rf", rig.base, NULL };
    pid_t pid;
    int status;

    rig.share = g_build_filename(rig.base, "share", NULL);
    rig.undo = g_build_filename(rig.base, "undo", NULL);
    pid = fork();
    if (pid == 0) {
        become_nobody(&rig);
        umask(0);
        it->run(&rig, it->change);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                 NULL, NULL);
    OK(status);
    g_free(rig.share);
    g_free(rig.undo);
    g_free(rig.base);
}

static const struct test_case cases[] = {
    { "/closed/remove", die, remove_then_close },
    { "/closed/create", die, create_then_close },
    { "/closed/root", die, close_root },
    { "/closed/move-out", die, move_out_then_close },
    { "/closed/attributes", die, close_noted },
    { "/closed/attributes-write-only", die, close_noted_to_reading },
    { "/closed/undo-without-redo", undo, create_then_close },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add_data_func(cases[i].path, &cases[i], test);
    return g_test_run();
}
