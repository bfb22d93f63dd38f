/* SPDX-License-Identifier: Apache-2.0
 *
 * watch-mount-test - ic_watch_spare_mount() ignores the own mount only.
 *
 * Writes through the server's own mount are not reported, those by another way
 * are.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interceptor/interceptor.h"

enum { SKIP = 77 };

/* Return all reported events, in one mask. */
static uint64_t read_masks(int fan)
{
    _Alignas(struct fanotify_event_metadata) char buffer[16384];
    uint64_t mask = 0;
    ssize_t len;

    while ((len = read(fan, buffer, sizeof(buffer))) > 0) {
        const char *at = buffer, *end = buffer + len;

        while (at < end) {
            struct fanotify_event_metadata event;

            memcpy(&event, at, sizeof(event));
            mask |= event.mask;
            at += event.event_len;
        }
    }
    return mask;
}

static void write_file(const char *dir, const char *name)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, "x", 1), ==, 1);
    g_assert_cmpint(close(fd), ==, 0);
}

/* In a process of its own, which changes its mounts. */
static int run(const char *folder, const char *own)
{
    int fan = ic_watch_open();

    if (fan < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(folder, own, NULL, MS_BIND, NULL) < 0) {
        printf("# %s\n", g_strerror(fan < 0 ? -fan : errno));
        return SKIP;
    }
    g_assert_cmpint(
        fanotify_mark(fan, FAN_MARK_ADD | FAN_MARK_ONLYDIR,
                      FAN_CREATE | FAN_CLOSE_WRITE | FAN_EVENT_ON_CHILD,
                      AT_FDCWD, folder),
        ==, 0);
    write_file(own, "told");
    g_assert_cmphex(read_masks(fan), ==, FAN_CREATE | FAN_CLOSE_WRITE);
    ic_watch_spare_mount(fan, own);
    for (int i = 0; i < 3; i++) /* a write does not undo that */
        write_file(own, "spared");
    g_assert_cmphex(read_masks(fan), ==, FAN_CREATE);
    write_file(folder, "spared");
    g_assert_cmphex(read_masks(fan), ==, FAN_CLOSE_WRITE);
    return 0;
}

static void spared(void)
{
    g_autofree char *base = g_dir_make_tmp("watch-mount-XXXXXX", NULL);
    g_autofree char *folder = g_build_filename(base, "folder", NULL);
    g_autofree char *own = g_build_filename(base, "own", NULL);
    g_autofree char *remove = NULL;
    int status;
    pid_t pid;

    g_assert_cmpint(g_mkdir(folder, 0700), ==, 0);
    g_assert_cmpint(g_mkdir(own, 0700), ==, 0);
    pid = fork();
    if (pid == 0)
        _exit(run(folder, own));
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    remove = g_strdup_printf("rm -r '%s'", base);
    g_assert_true(g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL));
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP)
        g_test_skip("no fanotify or no namespace of mounts for us");
    else
        g_assert_cmpint(status, ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/watch/own-mount-is-ignored", spared);
    return g_test_run();
}
