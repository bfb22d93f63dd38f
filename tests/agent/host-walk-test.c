/* SPDX-License-Identifier: Apache-2.0
 *
 * host-walk-test - a path that a guest has chosen leads where realpath(3) says,
 * and never makes an automounter mount.
 */
#include "agent/session/host_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"

static char *base; /* without symlinks */

static char *in_base(const char *path)
{
    return g_build_filename(base, path, NULL);
}

static void make_dir(const char *path)
{
    g_autofree char *full = in_base(path);

    g_assert_cmpint(g_mkdir_with_parents(full, 0700), ==, 0);
}

static void make_link(const char *target, const char *path)
{
    g_autofree char *full = in_base(path);

    g_assert_cmpint(symlink(target, full), ==, 0);
}

/* The walk leads to this path in the base. */
static void leads(const char *path, const char *wanted)
{
    g_autofree char *full = in_base(path), *real = NULL;
    g_autofree char *wanted_real = in_base(wanted);
    struct stat a, b;
    fd_auto int fd = host_walk(full, &real);
    char *by_libc = realpath(full, NULL);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpstr(by_libc, ==, wanted_real);
    g_assert_cmpstr(real, ==, wanted_real);
    g_assert_cmpint(fstat(fd, &a), ==, 0);
    g_assert_cmpint(stat(wanted_real, &b), ==, 0);
    g_assert_true(a.st_dev == b.st_dev && a.st_ino == b.st_ino);
    free(by_libc);
}

static void fails(const char *path, int error, const char *wanted)
{
    g_autofree char *full = in_base(path), *real = NULL;
    g_autofree char *wanted_real = in_base(wanted);

    g_assert_cmpint(host_walk(full, &real), ==, -error);
    g_assert_cmpstr(real, ==, wanted_real);
}

static void paths(void)
{
    g_autofree char *file = in_base("a/file"), *real = NULL;
    g_autofree char *there = in_base("a/b");
    fd_auto int root = host_walk("/", &real);

    g_assert_cmpint(root, >=, 0);
    g_assert_cmpstr(real, ==, "/");
    make_dir("a/b/c");
    make_dir("d");
    g_assert_true(g_file_set_contents(file, "", 0, NULL));
    make_link("b/c", "a/relative");
    make_link(there, "absolute");
    make_link("../a/./b/../b/c", "d/up");
    make_link("relative/..", "a/chain");
    make_link("loop", "loop");
    make_link("/../../..", "above");
    make_link("gone", "dangling");
    leads("a//b/./c/", "a/b/c");
    leads("a/relative", "a/b/c");
    leads("absolute/c", "a/b/c");
    leads("d/up", "a/b/c");
    leads("a/chain/c", "a/b/c");
    fails("loop/x", ELOOP, "loop/x");
    fails("none/x", ENOENT, "none/x");
    fails("absolute/none/x", ENOENT, "a/b/none/x");
    fails("dangling", ENOENT, "gone");
    fails("a/file", ENOTDIR, "a/file");
    fails("a/file/x", ENOTDIR, "a/file/x");
    g_clear_pointer(&real, g_free);
    fd_close(&root);
    {
        g_autofree char *above = in_base("above");

        root = host_walk(above, &real);
        g_assert_cmpint(root, >=, 0);
        g_assert_cmpstr(real, ==, "/");
    }
}

/* An automounter whose daemon never mounts anything: each lookup that waits for
 * it would be in the pipe, and would wait until its end. */
static bool automounter_start(pid_t *ret_daemon, int pipe_ends[2])
{
    g_autofree char *where = in_base("net"), *options = NULL;

    if (unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return false;
    make_dir("net");
    g_assert_cmpint(pipe2(pipe_ends, O_CLOEXEC | O_DIRECT), ==, 0);
    /* The kernel lets the daemon's process group see what is below. */
    *ret_daemon = fork();
    if (*ret_daemon == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    setpgid(*ret_daemon, *ret_daemon);
    options = g_strdup_printf("fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect",
                              pipe_ends[1], (int)*ret_daemon);
    return mount("test", where, "autofs", 0, options) == 0;
}

static void automounters(void)
{
    g_autofree char *where = in_base("net");
    int pipe_ends[2] = { -1, -1 };
    pid_t daemon = -1;
    struct pollfd asked;

    if (!automounter_start(&daemon, pipe_ends)) {
        g_test_skip("needs root and autofs in the kernel");
    } else {
        alarm(20); /* a lookup that waits for the daemon would wait forever */
        make_link("net/host", "shortcut");
        fails("net/secret.example.org/x", EREMOTE, "net/secret.example.org/x");
        fails("net/secret.example.org", EREMOTE, "net/secret.example.org");
        fails("shortcut/x", EREMOTE, "net/host/x");
        fails("net", EREMOTE, "net");
        asked = (struct pollfd){ .fd = pipe_ends[0], .events = POLLIN };
        g_assert_cmpint(poll(&asked, 1, 0), ==, 0);
        alarm(0);
        g_assert_cmpint(umount2(where, MNT_DETACH), ==, 0);
    }
    if (daemon > 0) {
        kill(daemon, SIGKILL);
        waitpid(daemon, NULL, 0);
    }
    fd_close(&pipe_ends[0]);
    fd_close(&pipe_ends[1]);
}

int main(int argc, char **argv)
{
    g_autofree char *made = NULL;
    char *command[] = { (char *)"rm", (char *)"-rf", NULL, NULL };
    int r;

    g_test_init(&argc, &argv, NULL);
    made = g_dir_make_tmp("host-walk-XXXXXX", NULL);
    base = realpath(made, NULL);
    g_assert_nonnull(base);
    g_test_add_func("/host-walk/paths lead where realpath says", paths);
    g_test_add_func("/host-walk/automounters are not asked", automounters);
    r = g_test_run();
    command[2] = base;
    g_spawn_sync(NULL, command, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                 NULL, NULL, NULL);
    free(base);
    return r;
}
