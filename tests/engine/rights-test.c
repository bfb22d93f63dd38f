/* SPDX-License-Identifier: Apache-2.0
 *
 * rights-test - undo by a user who lacks rights on some inodes.
 *
 * They have a group without the user in it, another owner, capabilities, or the
 * set-group-ID bit. A change that the user could not undo is refused; the rest
 * comes back, in a user namespace with no other user as well as outside it.
 * Root prepares the tree and compares; a child that is not root does the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "interceptor/interceptor.h"
#include "tests/lib/oracle.h"

enum { USER = 12345, OTHERS = 100 };

#define OK(call) g_assert_cmpint((call), ==, 0)

struct rig {
    char *base, *share, *undo;
    struct ic *ic;
    int64_t step;
};

struct rights_case {
    const char *path;
    void (*prepare)(const struct rig *rig);
    void (*change)(struct rig *rig);
    const char *elsewhere; /* a file system for the log, or NULL */
};

/* ---- the tree, by root --------------------------------------------------- */

static char *host_path(const struct rig *rig, const char *name)
{
    return g_build_filename(rig->share, name, NULL);
}

static void give(const struct rig *rig, const char *name, uid_t uid, gid_t gid,
                 mode_t mode)
{
    g_autofree char *path = host_path(rig, name);

    OK(chown(path, uid, gid));
    OK(chmod(path, mode));
}

static void make_file(const struct rig *rig, const char *name, uid_t uid,
                      gid_t gid, mode_t mode)
{
    g_autofree char *path = host_path(rig, name);

    g_assert_true(g_file_set_contents(path, "before", -1, NULL));
    give(rig, name, uid, gid, mode);
}

static void foreign_group(const struct rig *rig)
{
    make_file(rig, "f", USER, OTHERS, 0644);
    give(rig, ".", USER, OTHERS, 0755);
}

static void group_bit(const struct rig *rig)
{
    make_file(rig, "f", USER, OTHERS, 02755);
}

static void foreign_owner(const struct rig *rig)
{
    make_file(rig, "f", 0, 0, 0644);
}

static void foreign_folder(const struct rig *rig)
{
    g_autofree char *path = host_path(rig, "f");

    OK(mkdir(path, 0755));
}

static void with_capability(const struct rig *rig)
{
    static const unsigned char value[20] = { 1, 0, 0, 2, 0, 4 };
    g_autofree char *path = host_path(rig, "f");
    int rc;

    make_file(rig, "f", USER, USER, 0755);
    rc = setxattr(path, "security.capability", value, sizeof(value), 0);
    g_assert_true(rc == 0 || errno == ENOTSUP);
}

static void with_attribute(const struct rig *rig)
{
    g_autofree char *path = host_path(rig, "f");
    int rc;

    make_file(rig, "f", USER, USER, 0644);
    rc = setxattr(path, "security.stepback", "mine", 4, 0);
    g_assert_true(rc == 0 || errno == ENOTSUP);
}

/* ---- changes of the step ------------------------------------------------- */

static struct ic_inode *look_up(struct rig *rig)
{
    struct ic_inode *inode;

    OK(ic_lookup(rig->ic, ic_root(rig->ic), "f", &inode, NULL));
    return inode;
}

static int put(struct rig *rig, const char *text)
{
    struct iovec iov = { (char *)text, strlen(text) };
    struct ic_inode *inode = look_up(rig);
    ssize_t n;
    int fd, rc = ic_open(rig->ic, inode, O_WRONLY, &fd);

    if (rc == 0) {
        n = ic_pwritev(rig->ic, inode, fd, &iov, 1, 0, 0, true);
        rc = n < 0 ? (int)n : 0;
        close(fd);
    }
    ic_inode_unref(inode);
    return rc;
}

static int set(struct rig *rig, const struct ic_setattr *attr)
{
    struct ic_inode *inode = look_up(rig);
    int rc = ic_setattr(rig->ic, inode, -1, attr, NULL);

    ic_inode_unref(inode);
    return rc;
}

static void write_it(struct rig *rig)
{
    OK(put(rig, "changed"));
}

static void write_refused(struct rig *rig)
{
    g_assert_cmpint(put(rig, "changed"), <, 0);
}

static void mode_refused(struct rig *rig)
{
    const struct ic_setattr attr = { .valid = IC_SET_MODE, .mode = 0755 };

    g_assert_cmpint(set(rig, &attr), ==, -EPERM);
    write_refused(rig);
}

static void group_refused(struct rig *rig)
{
    const struct ic_setattr attr = { .valid = IC_SET_GID, .gid = USER };

    g_assert_cmpint(set(rig, &attr), ==, -EPERM);
}

static void remove_it(struct rig *rig)
{
    OK(ic_unlinkat(rig->ic, ic_root(rig->ic), "f", 0));
}

static void remove_refused(struct rig *rig)
{
    g_assert_cmpint(ic_unlinkat(rig->ic, ic_root(rig->ic), "f", 0), ==, -EPERM);
}

static void remove_folder_refused(struct rig *rig)
{
    g_assert_cmpint(ic_unlinkat(rig->ic, ic_root(rig->ic), "f", AT_REMOVEDIR),
                    ==, -EPERM);
}

static void rename_refused(struct rig *rig)
{
    struct ic_inode *root = ic_root(rig->ic);

    g_assert_cmpint(ic_renameat2(rig->ic, root, "f", root, "g", 0), ==, -EPERM);
}

/* ---- closed folders ------------------------------------------------------ */

static void folder_with_file(const struct rig *rig)
{
    g_autofree char *path = host_path(rig, "f");

    OK(mkdir(path, 0755));
    make_file(rig, "f/file", USER, USER, 0644);
    give(rig, "f", USER, USER, 0755);
}

static void folder_with_link(const struct rig *rig)
{
    g_autofree char *name = host_path(rig, "f/file");
    g_autofree char *other = host_path(rig, "link");

    folder_with_file(rig);
    OK(link(name, other));
}

static void close_it(struct rig *rig)
{
    const struct ic_setattr attr = { .valid = IC_SET_MODE, .mode = 0 };

    OK(set(rig, &attr));
}

static void change_and_close(struct rig *rig)
{
    struct ic_inode *dir = look_up(rig);

    OK(ic_unlinkat(rig->ic, dir, "file", 0));
    ic_inode_unref(dir);
    close_it(rig);
}

static void unlink_and_close(struct rig *rig)
{
    OK(ic_unlinkat(rig->ic, ic_root(rig->ic), "link", 0));
    close_it(rig);
}

/* ---- running ------------------------------------------------------------- */

static void open_share(struct rig *rig)
{
    const struct ic_options options = { .share = rig->share,
                                        .undo_dir = rig->undo,
                                        .no_timer = true,
                                        .no_watch = true };
    GError *error = NULL;

    rig->ic = ic_open_share(&options, &error);
    g_assert_no_error(error);
}

static void become_user(void)
{
    OK(setgroups(0, NULL));
    OK(setresgid(USER, USER, USER));
    OK(setresuid(USER, USER, USER));
    OK(prctl(PR_SET_DUMPABLE, 1)); /* take /proc/self back (proc(5)) */
}

/* Enter a user namespace without other users, like the sandbox's. */
static void enter_namespace(void)
{
    static const struct {
        const char *path, *text;
    } files[] = {
        { "/proc/self/uid_map", "12345 12345 1" },
        { "/proc/self/setgroups", "deny" },
        { "/proc/self/gid_map", "12345 12345 1" },
    };

    if (unshare(CLONE_NEWUSER) < 0)
        _exit(77);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        int fd = open(files[i].path, O_WRONLY);

        g_assert_cmpint(write(fd, files[i].text, strlen(files[i].text)), >, 0);
        close(fd);
    }
}

static void run_step(struct rig *rig, const struct rights_case *test)
{
    struct ic_cred cred = { USER, USER, 0 };
    struct ic_inode *inode;
    GError *error = NULL;

    open_share(rig);
    g_assert_true(ic_step_open(rig->ic, rig->step, IC_STEP_COMMAND, "x", NULL));
    test->change(rig);
    OK(ic_mkdirat(rig->ic, &cred, ic_root(rig->ic), "new", 0700, &inode, NULL));
    ic_inode_unref(inode);
    ic_step_close(rig->ic, rig->step, 0, 0, 0, NULL, &error);
    g_assert_no_error(error);
}

static void undo(struct rig *rig)
{
    GError *error = NULL;

    ic_rollback(rig->ic, 1, false, NULL, &error);
    g_assert_no_error(error);
    ic_close(rig->ic);
}

/* In a child, or in one in the namespace: make the step, undo it, or both. */
static bool as_user(struct rig *rig, const struct rights_case *test,
                    bool namespace, bool step, bool back)
{
    int status;
    pid_t pid;

    rig->step += step;
    pid = fork();
    if (pid == 0) {
        become_user();
        if (namespace)
            enter_namespace();
        if (step)
            run_step(rig, test);
        else
            open_share(rig);
        if (back)
            undo(rig);
        else
            ic_close(rig->ic);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        return false;
    OK(status);
    return true;
}

static void check(const struct rig *rig, GPtrArray *before)
{
    g_autoptr(GPtrArray) after = oracle_snapshot(rig->share, NULL);
    g_autofree char *text = oracle_diff(before, after);

    g_assert_cmpstr(text, ==, NULL);
}

static void set_up(struct rig *rig, const struct rights_case *test)
{
    const char *top = test->elsewhere;

    rig->base = g_dir_make_tmp("stepback-test-XXXXXX", NULL);
    OK(chmod(rig->base, 0755));
    rig->share = g_build_filename(rig->base, "share", NULL);
    rig->undo = top ? g_strdup_printf("%s/stepback-test-XXXXXX", top)
                    : g_build_filename(rig->base, "undo", NULL);
    if (top)
        g_assert_nonnull(g_mkdtemp(rig->undo));
    else
        OK(mkdir(rig->undo, 0700));
    OK(chown(rig->undo, USER, USER));
    OK(mkdir(rig->share, 0755));
    OK(chown(rig->share, USER, USER));
    test->prepare(rig);
}

static void tear_down(struct rig *rig)
{
    char *argv[] = { (char *)"rm", (char *)"-rf", rig->base, rig->undo, NULL };

    g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                 NULL, NULL);
    g_free(rig->base);
    g_free(rig->share);
    g_free(rig->undo);
}

static void test(gconstpointer data)
{
    const struct rights_case *test = data;
    g_autoptr(GPtrArray) before = NULL;
    struct rig rig = { 0 };

    if (geteuid() != 0) {
        g_test_skip("needs root to prepare");
        return;
    }
    set_up(&rig, test);
    before = oracle_snapshot(rig.share, NULL);
    as_user(&rig, test, false, true, true);
    check(&rig, before);
    if (!as_user(&rig, test, true, true, true)) {
        g_test_message("no user namespaces here");
    } else {
        check(&rig, before);
        as_user(&rig, test, true, true, false);
        as_user(&rig, test, false, false, true);
        check(&rig, before);
    }
    g_ptr_array_unref(g_steal_pointer(&before));
    tear_down(&rig);
}

static const struct rights_case cases[] = {
    { "/rights/group", foreign_group, write_it, NULL },
    { "/rights/group-removed", foreign_group, remove_it, NULL },
    { "/rights/group-changed", foreign_group, group_refused, NULL },
    { "/rights/group-copied", foreign_group, remove_refused, "/dev/shm" },
    { "/rights/group-bit", group_bit, mode_refused, NULL },
    { "/rights/owner-removed", foreign_owner, remove_it, NULL },
    { "/rights/owner-copied", foreign_owner, remove_refused, "/dev/shm" },
    { "/rights/folder-removed", foreign_folder, remove_folder_refused, NULL },
    { "/rights/folder-renamed", foreign_folder, rename_refused, NULL },
    { "/rights/closed", folder_with_file, close_it, NULL },
    { "/rights/closed-changed", folder_with_file, change_and_close, NULL },
    { "/rights/closed-link", folder_with_link, unlink_and_close, "/dev/shm" },
    { "/rights/attribute-removed", with_attribute, remove_it, NULL },
    { "/rights/attribute-copied", with_attribute, remove_refused, "/dev/shm" },
    { "/rights/capability", with_capability, write_refused, NULL },
};

/* ---- root, the log elsewhere --------------------------------------------- */

static void set_attributes(const struct rig *rig, const char *name)
{
    static const char *const attributes[] = { "security.stepback",
                                              "trusted.stepback" };
    g_autofree char *path = host_path(rig, name);

    for (size_t i = 0; i < G_N_ELEMENTS(attributes); i++) {
        int rc = lsetxattr(path, attributes[i], name, strlen(name), 0);

        g_assert_true(rc == 0 || errno == ENOTSUP || errno == EPERM);
    }
}

/* Root with all capabilities restores attributes that only it can set. */
static void root_attributes(void)
{
    struct rights_case test = { .elsewhere = "/dev/shm",
                                .prepare = foreign_owner };
    g_autoptr(GPtrArray) before = NULL;
    struct rig rig = { 0 };
    g_autofree char *link_path = NULL, *dir_path = NULL;
    struct ic_inode *root;

    if (geteuid() != 0) {
        g_test_skip("needs root");
        return;
    }
    set_up(&rig, &test);
    link_path = host_path(&rig, "link");
    dir_path = host_path(&rig, "dir");
    OK(symlink("target", link_path));
    OK(mkdir(dir_path, 0755));
    set_attributes(&rig, "f");
    set_attributes(&rig, "link");
    set_attributes(&rig, "dir");
    before = oracle_snapshot(rig.share, NULL);
    open_share(&rig);
    root = ic_root(rig.ic);
    g_assert_true(ic_step_open(rig.ic, 1, IC_STEP_COMMAND, "x", NULL));
    OK(ic_unlinkat(rig.ic, root, "f", 0));
    OK(ic_unlinkat(rig.ic, root, "link", 0));
    OK(ic_unlinkat(rig.ic, root, "dir", AT_REMOVEDIR));
    g_assert_true(ic_step_close(rig.ic, 1, 0, 0, 0, NULL, NULL));
    undo(&rig);
    check(&rig, before);
    tear_down(&rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add_data_func(cases[i].path, &cases[i], test);
    g_test_add_func("/rights/root-attributes", root_attributes);
    return g_test_run();
}
