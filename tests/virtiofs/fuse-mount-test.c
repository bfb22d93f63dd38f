/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse-mount-test - real work on a mount of the daemon (--mount).
 *
 * It is compared with the same work on a bare directory. Needs root (or
 * fusermount3), /dev/fuse, git, make, cc, python3 and the attr tools; skipped
 * if one is missing.
 */
#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_MS 10000

struct mounted {
    char *folder; /* temporary; below it: bare, seen and kept */
    char *seen;   /* the mount */
    GPid pid;
};

static bool can_run(void)
{
    static const char *const programs[] = { "git",     "make",     "cc",
                                            "python3", "getfattr", "setfattr",
                                            "tar",     "fallocate" };

    if (access("/dev/fuse", R_OK | W_OK) != 0)
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(programs); i++) {
        g_autofree char *path = g_find_program_in_path(programs[i]);

        if (!path)
            return false;
    }
    return true;
}

static char *make_folder(const char *parent, const char *name)
{
    char *path = g_build_filename(parent, name, NULL);

    g_assert_cmpint(g_mkdir(path, 0755), ==, 0);
    return path;
}

/* The mount is there once the directory is on another device. */
static void wait_for_mount(const struct mounted *m)
{
    struct stat above, here;

    g_assert_cmpint(stat(m->folder, &above), ==, 0);
    for (int i = 0; stat(m->seen, &here) != 0 || here.st_dev == above.st_dev;
         i++) {
        g_assert_cmpint(i, <, TIMEOUT_MS / 20);
        g_usleep(20000);
    }
}

/* In the child: no mount outlives a test that fails. */
static void die_with_parent(gpointer data)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static void start(struct mounted *m, const char *cache, bool undo)
{
    const char *program = g_getenv("STEPBACK_VIRTIOFSD");
    g_autoptr(GError) error = NULL;
    g_autofree char *kept = NULL, *log = NULL;

    m->folder = g_dir_make_tmp("fuse-mount-XXXXXX", &error);
    g_assert_no_error(error);
    m->seen = make_folder(m->folder, "seen");
    kept = make_folder(m->folder, "kept");
    log = g_build_filename(m->folder, "undo", NULL);
    {
        char *argv[] = { (char *)(program ? program : "./stepback-virtiofsd"),
                         (char *)"--shared-dir",
                         kept,
                         (char *)"--mount",
                         m->seen,
                         (char *)"--cache",
                         (char *)cache,
                         (char *)"--log-level=warn",
                         (char *)"--allow-suid",
                         (char *)"--allow-devices",
                         undo ? (char *)"--undo-dir" : NULL,
                         log,
                         NULL };

        g_spawn_async(NULL, argv, NULL,
                      G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH |
                          G_SPAWN_STDOUT_TO_DEV_NULL,
                      die_with_parent, NULL, &m->pid, &error);
    }
    g_assert_no_error(error);
    wait_for_mount(m);
}

static int wait_exit(struct mounted *m)
{
    int status = 0;

    for (int i = 0; waitpid(m->pid, &status, WNOHANG) == 0; i++) {
        g_assert_cmpint(i, <, TIMEOUT_MS / 10);
        g_usleep(10000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Run a command and return its output; it must succeed. */
static char *run(const char *command)
{
    char *argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)command, NULL };
    g_autofree char *err = NULL;
    g_autoptr(GError) error = NULL;
    char *out;
    int status;

    g_spawn_sync(NULL, argv, NULL, 0, NULL, NULL, &out, &err, &status, &error);
    g_assert_no_error(error);
    if (status != 0)
        g_test_message("%s: %s", command, err);
    g_assert_cmpint(status, ==, 0);
    return out;
}

static void stop(struct mounted *m)
{
    g_autofree char *command = g_strdup_printf("rm -rf '%s'", m->folder);
    struct stat above, here;

    kill(m->pid, SIGTERM);
    g_assert_cmpint(wait_exit(m), ==, 0);
    /* Nothing stays mounted. */
    g_assert_cmpint(stat(m->folder, &above), ==, 0);
    g_assert_cmpint(stat(m->seen, &here), ==, 0);
    g_assert_cmpuint(above.st_dev, ==, here.st_dev);
    g_free(run(command));
    g_free(m->seen);
    g_free(m->folder);
}

static char *work_in(const char *folder)
{
    const char *srcdir = g_getenv("srcdir"); /* set by make check */
    g_autofree char *script =
        srcdir
            ? g_build_filename(srcdir, "tests/virtiofs/fuse-workload.sh", NULL)
            : g_test_build_filename(G_TEST_DIST, "fuse-workload.sh", NULL);
    g_autofree char *command = g_strdup_printf("sh '%s' '%s'", script, folder);

    return run(command);
}

/* List all names with what must be the same everywhere, and the contents. Git
 * writes times into its index. */
static char *describe(const char *folder)
{
    g_autofree char *command = g_strdup_printf(
        "cd '%s' && find . -path './project/.git' -prune -o "
        "-printf '%%p %%y %%m %%n %%s %%l\\n' | sort && "
        "find . -path './project/.git' -prune -o -type f -print0 | sort -z | "
        "xargs -0 cksum",
        folder);

    return run(command);
}

static void test_work(const char *cache, bool undo)
{
    g_autofree char *bare = NULL, *bare_out = NULL, *seen_out = NULL;
    g_autofree char *bare_tree = NULL, *kept_tree = NULL, *kept = NULL;
    struct mounted m = { 0 };

    if (!can_run()) {
        g_test_skip("/dev/fuse or a program is missing");
        return;
    }
    start(&m, cache, undo);
    bare = make_folder(m.folder, "bare");
    kept = g_build_filename(m.folder, "kept", NULL);
    bare_out = work_in(bare);
    seen_out = work_in(m.seen);
    g_assert_cmpstr(bare_out, ==, seen_out);
    bare_tree = describe(bare);
    kept_tree = describe(kept);
    g_assert_cmpstr(bare_tree, ==, kept_tree);
    stop(&m);
}

static void test_passthrough(void)
{
    test_work("auto", false);
}

static void test_undo(void)
{
    test_work("auto", true);
}

static void test_never(void)
{
    test_work("never", true);
}

/* The daemon ends when another process unmounts. */
static void test_unmounted(void)
{
    g_autofree char *command = NULL;
    struct mounted m = { 0 };

    if (!can_run()) {
        g_test_skip("/dev/fuse or a program is missing");
        return;
    }
    start(&m, "auto", false);
    command = g_strdup_printf("umount '%s' || fusermount3 -u '%s'", m.seen,
                              m.seen);
    g_free(run(command));
    g_assert_cmpint(wait_exit(&m), ==, 0);
    g_free(command);
    command = g_strdup_printf("rm -rf '%s'", m.folder);
    g_free(run(command));
    g_free(m.seen);
    g_free(m.folder);
}

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fuse/mount/passthrough", test_passthrough);
    g_test_add_func("/fuse/mount/undo", test_undo);
    g_test_add_func("/fuse/mount/cache-never", test_never);
    g_test_add_func("/fuse/mount/unmounted", test_unmounted);
    return g_test_run();
}
