/* SPDX-License-Identifier: Apache-2.0
 *
 * stuck-test - obstacles to an undo are found before it begins.
 *
 * What would stop it half-way is found before anything changes, or before the
 * first step is undone.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/errors.h"
#include "interceptor/interceptor.h"
#include "tests/lib/engine_trees.h"

/* ---- bind mounts --------------------------------------------------------- */

static void fill_mounted(struct world *w)
{
    g_autofree char *other = g_build_filename(w->base, "other", NULL);
    g_autofree char *file = g_build_filename(other, "f", NULL);

    world_host_dir(w, "data");
    world_host_file(w, "a", "old");
    OK(mkdir(other, 0755));
    g_assert_true(g_file_set_contents(file, "old", -1, NULL));
}

static bool bind_mount(struct world *w, const char *at)
{
    g_autofree char *other = g_build_filename(w->base, "other", NULL);

    return mount(other, at, NULL, MS_BIND, NULL) == 0;
}

/* Bind mounts: inode numbers are those of the file system, but no name can be
 * moved between the two. */
static void mounted_refused(gconstpointer backend)
{
    world_auto struct world *w = world_new(backend);
    g_autofree char *data = world_host_path(w, "data");
    g_autoptr(GPtrArray) before = NULL;
    bool mounted;

    fill_mounted(w);
    mounted = bind_mount(w, data);
    if (!mounted)
        g_test_skip("no right to mount");
    if (mounted && world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        g_assert_cmpint(engine_put(w, "data/f", 0, "new"), ==, -EROFS);
        g_assert_cmpint(engine_put(w, "data/new", O_CREAT, "x"), ==, -EROFS);
        g_assert_cmpint(w->backend->unlink(w, "data/f"), ==, -EROFS);
        g_assert_cmpint(w->backend->chmod(w, "data/f", 0600), ==, -EROFS);
        g_assert_cmpint(w->backend->link(w, "data/f", "l"), ==, -EXDEV);
        g_assert_cmpint(w->backend->rename(w, "a", "data/a", 0), ==, -EXDEV);
        g_assert_cmpint(w->backend->rename(w, "data/f", "b", 0), ==, -EROFS);
        WRITE("a", "new");
        world_end_step(w);
        world_undo_to(w, 1, before);
        w->backend->stop(w);
    }
    if (mounted)
        umount2(data, MNT_DETACH);
}

/* A directory of the share, and a file, are mounted a second time in it,
 * whichever of the two places is found first. */
static void mounted_twice(struct world *w, const char *first,
                          const char *second)
{
    g_autofree char *from = world_host_path(w, "data");
    g_autofree char *at = world_host_path(w, "seen");
    g_autofree char *file = world_host_path(w, "a");
    g_autofree char *at_file = world_host_path(w, "b");
    g_autoptr(GPtrArray) before = NULL;
    bool mounted = mount(from, at, NULL, MS_BIND, NULL) == 0 &&
                   mount(file, at_file, NULL, MS_BIND, NULL) == 0;
    struct stat st;

    if (!mounted)
        g_test_skip("no right to mount");
    if (mounted && world_start(w)) {
        before = world_snapshot(w);
        OK(w->backend->stat(w, first, &st));
        OK(w->backend->stat(w, second, &st));
        world_step(w);
        world_end_step(w);
        g_assert_cmpint(engine_put(w, "seen/new", O_CREAT, "x"), ==, -EROFS);
        g_assert_cmpint(engine_put(w, "seen/f", 0, "new"), ==, -EROFS);
        g_assert_cmpint(engine_put(w, "b", 0, "new"), ==, -EROFS);
        g_assert_cmpint(w->backend->chmod(w, "seen", 0700), ==, -EROFS);
        g_assert_cmpint(w->backend->rename(w, "data", "seen", 0), <, 0);
        WRITE("data/f", "new");
        CREATE("data/new", "new");
        WRITE("a", "new");
        OK(w->backend->rename(w, "data", "moved", 0));
        OK(w->backend->rename(w, "moved", "data", 0));
        world_undo_to(w, 1, before);
        WRITE("data/f", "new");
        w->backend->kill(w);
    }
    umount2(at_file, MNT_DETACH);
    umount2(at, MNT_DETACH);
    if (mounted) {
        g_assert_true(world_start(w));
        json_decref(world_undo(w, 1));
        w->backend->stop(w);
    }
}

static void mount_twice(gconstpointer backend, const char *first,
                        const char *second)
{
    world_auto struct world *w = world_new(backend);

    world_host_dir(w, "data");
    world_host_dir(w, "seen");
    world_host_file(w, "data/f", "old");
    world_host_file(w, "a", "old");
    world_host_file(w, "b", "other");
    mounted_twice(w, first, second);
}

static void alias_after(gconstpointer backend)
{
    mount_twice(backend, "data/f", "seen/f");
}

static void alias_before(gconstpointer backend)
{
    mount_twice(backend, "seen/f", "data/f");
}

/* ---- files in use by other processes ------------------------------------- */

enum { TRIES = 200, TRY_US = 10000 };

static void fill_program(struct world *w)
{
    g_autofree char *program = world_host_path(w, "d/program");
    g_autofree char *data = NULL;
    gsize length;

    world_host_dir(w, "d");
    world_host_file(w, "a", "old");
    g_assert_true(g_file_get_contents("/bin/sleep", &data, &length, NULL));
    g_assert_true(g_file_set_contents(program, data, (gssize)length, NULL));
    OK(chmod(program, 0755));
}

/* Change a part of the file that does not affect its execution. */
static void change_program(struct world *w)
{
    struct stat st;

    WRITE("a", "new");
    DO(stat, "d/program", &st);
    DO(put, "d/program", 0, "xyz", 3, st.st_size - 3);
    CREATE("new", "new");
}

static pid_t run_program(struct world *w)
{
    g_autofree char *program = world_host_path(w, "d/program");
    char *argv[] = { program, (char *)"60", NULL };
    gboolean ok = FALSE;
    GPid pid = -1;

    /* A file server closes what it has written a little later. */
    for (int i = 0; !ok && i < TRIES; i++) {
        ok = g_spawn_async(NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL,
                           NULL, &pid, NULL);
        if (!ok)
            g_usleep(TRY_US);
    }
    g_assert_true(ok);
    return pid;
}

static void end_program(pid_t pid)
{
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

static void refused(struct world *w, const char *type, json_t *payload,
                    const char *text)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);
    g_autoptr(GError) error = NULL;

    g_assert_null(w->backend->request(w, type, payload, &error));
    g_assert_cmpint(error_code_of(error), ==, ERROR_BUSY);
    g_assert_nonnull(strstr(error->message, text));
    world_assert_equal(w, before);
}

static json_t *one_step(bool force)
{
    return json_pack("{s:i, s:b}", "steps", 1, "force", force);
}

/* Undo and redo report it, change nothing, and can be repeated. */
static void program(gconstpointer backend)
{
    static const char text[] = "'d/program' is running as a program";
    world_auto struct world *w = world_new(backend);
    g_autoptr(GPtrArray) before = NULL;
    pid_t pid;

    fill_program(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        change_program(w);
        world_end_step(w);
        pid = run_program(w);
        refused(w, "rollback", one_step(false), text);
        g_assert_cmpuint(world_history_count(w), ==, 1);
        end_program(pid);
        world_undo_to(w, 1, before);
        pid = run_program(w);
        refused(w, "redo", one_step(false), text);
        end_program(pid);
        json_decref(world_redo(w, 1));
        world_undo_to(w, 1, before);
        w->backend->stop(w);
    }
}

/* At the start, for a step that was interrupted. */
static void program_at_start(gconstpointer backend)
{
    world_auto struct world *w = world_new(backend);
    struct ic_options options = { .share = w->share, .undo_dir = w->undo_dir };
    g_autoptr(GPtrArray) before = NULL, between = NULL;
    g_autoptr(GError) error = NULL;
    pid_t pid;

    fill_program(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        change_program(w);
        w->backend->kill(w);
        between = world_snapshot(w);
        pid = run_program(w);
        g_assert_null(ic_open_share(&options, &error));
        g_assert_cmpint(error_code_of(error), ==, ERROR_IO_ERROR);
        g_assert_nonnull(strstr(error->message, "is running as a program"));
        world_assert_equal(w, between);
        end_program(pid);
        g_assert_true(world_start(w));
        world_assert_equal(w, before);
        w->backend->stop(w);
    }
}

static int take_lease(struct world *w, const char *path)
{
    g_autofree char *full = world_host_path(w, path);
    int fd = open(full, O_RDONLY | O_CLOEXEC);

    g_assert_cmpint(fd, >=, 0);
    for (int i = 0; fcntl(fd, F_SETLEASE, F_RDLCK) < 0; i++) {
        g_assert_cmpint(errno, ==, EAGAIN);
        g_assert_cmpint(i, <, TRIES);
        g_usleep(TRY_US);
    }
    return fd;
}

static int link_outside(struct world *w)
{
    g_autofree char *from = world_host_path(w, "d/program");
    g_autofree char *to = world_host_path(w, "e/other");

    return link(from, to);
}

/* The step has changed the file; the test decides which names it has then. */
static void leased(gconstpointer backend, void (*change)(struct world *w),
                   const char *move, const char *at, bool force)
{
    world_auto struct world *w = world_new(backend);
    g_autofree char *shell = g_strdup_printf("cd '%s' && %s", w->share, move);
    g_autoptr(GPtrArray) before = NULL;
    int fd;

    fill_program(w);
    world_host_dir(w, "e");
    if (world_start(w)) {
        OK(link_outside(w));
        before = world_snapshot(w);
        world_step(w);
        change(w);
        world_end_step(w);
        g_assert_cmpint(system(shell), ==, 0);
        fd = take_lease(w, at);
        refused(w, "rollback", one_step(force), "'d/program' is leased");
        OK(fcntl(fd, F_SETLEASE, F_UNLCK));
        close(fd);
        json_decref(world_request(w, "rollback", one_step(force)));
        if (!force)
            world_assert_equal(w, before);
        w->backend->stop(w);
    }
}

static void lease(gconstpointer backend)
{
    leased(backend, change_program, ":", "d/program", false);
}

static void change_and_remove(struct world *w)
{
    change_program(w);
    DO(unlink, "d/program");
}

/* The step has removed the name by which it knew the file. */
static void lease_by_other_name(gconstpointer backend)
{
    leased(backend, change_and_remove, ":", "e/other", false);
}

/* Another process has given the file new names, which are in no record. */
static void lease_of_moved_file(gconstpointer backend)
{
    leased(backend, change_program, "mv d/program x && mv e/other e/y", "e/y",
           true);
}

/* ---- table of cases ------------------------------------------------------ */

static const struct world_case cases[] = {
    { "bind-mount-stays-unchanged", mounted_refused },
    { "mounted-alias-after", alias_after },
    { "mounted-alias-before", alias_before },
    { "running-program-stops-undo", program },
    { "running-program-at-start", program_at_start },
    { "leased-file-stops-undo", lease },
    { "lease-by-another-name", lease_by_other_name },
    { "lease-of-a-moved-file", lease_of_moved_file },
};

int main(int argc, char **argv)
{
    umask(022);
    signal(SIGIO, SIG_IGN); /* sent for a lease */
    g_test_init(&argc, &argv, NULL);
    /* In a private mount namespace no mount outlives the test. */
    if (unshare(CLONE_NEWNS) == 0)
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    world_add_cases("/stuck", WORLD_WITHOUT_9P, cases, G_N_ELEMENTS(cases));
    return g_test_run();
}
