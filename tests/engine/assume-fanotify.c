/* SPDX-License-Identifier: Apache-2.0
 *
 * assume-fanotify - check what watch_fanotify.c assumes about the kernel.
 *
 * As this user, and, if that is root, also as an unprivileged one: an inode
 * mark on a directory reports changes of its names and of the inodes that they
 * name, with the directory's own file handle; our changes with our pid, those
 * of another process with a different one, or 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef FAN_REPORT_TARGET_FID
#define FAN_REPORT_TARGET_FID 0x00001000
#endif
#ifndef FAN_RENAME
#define FAN_RENAME 0x10000000
#endif

enum {
    NOBODY = 65534,
    INIT_FLAGS = FAN_CLASS_NOTIF | FAN_NONBLOCK | FAN_REPORT_FID |
                 FAN_REPORT_DIR_FID | FAN_REPORT_NAME | FAN_REPORT_TARGET_FID,
    EVENTS = FAN_CREATE | FAN_DELETE | FAN_RENAME | FAN_ATTRIB |
             FAN_CLOSE_WRITE | FAN_DELETE_SELF | FAN_ONDIR | FAN_EVENT_ON_CHILD,
    SKIP = 77, /* an exit code */
};

/* All events, combined. */
struct told {
    uint64_t mask;
    bool own, other;      /* pids */
    bool handle, strange; /* of the directory; of another one */
    char names[4096];     /* of the entries, each followed by a space */
};

static void read_name(struct told *told,
                      const struct fanotify_event_info_fid *info,
                      const struct file_handle *dir)
{
    const struct file_handle *handle = (const void *)info->handle;
    const char *name = (const char *)handle->f_handle + handle->handle_bytes;

    if (info->hdr.info_type == FAN_EVENT_INFO_TYPE_FID)
        return;
    if (handle->handle_bytes == dir->handle_bytes &&
        handle->handle_type == dir->handle_type &&
        memcmp(handle->f_handle, dir->f_handle, dir->handle_bytes) == 0)
        told->handle = true;
    else
        told->strange = true;
    strncat(told->names, name, sizeof(told->names) - strlen(told->names) - 1);
    strncat(told->names, " ", sizeof(told->names) - strlen(told->names) - 1);
}

/* Events are aligned to 4 (FANOTIFY_EVENT_ALIGN). */
typedef struct fanotify_event_metadata event __attribute__((aligned(4)));

static struct told read_all(int fan, const struct file_handle *dir)
{
    struct told told = { 0 };
    _Alignas(event) char buffer[16384];
    ssize_t len;

    while ((len = read(fan, buffer, sizeof(buffer))) > 0) {
        const event *m = (const void *)buffer;

        for (; FAN_EVENT_OK(m, len); m = FAN_EVENT_NEXT(m, len)) {
            const char *at = (const char *)m + m->metadata_len;

            told.mask |= m->mask;
            told.own |= m->pid == getpid();
            told.other |= m->pid != getpid();
            while (at < (const char *)m + m->event_len) {
                const struct fanotify_event_info_fid *info = (const void *)at;

                read_name(&told, info, dir);
                at += info->hdr.len;
            }
        }
    }
    return told;
}

static void change(int dir)
{
    int fd = openat(dir, "a", O_WRONLY | O_CREAT, 0600);

    if (fd < 0 || write(fd, "x", 1) != 1 || fchmod(fd, 0644) < 0 ||
        close(fd) < 0 || renameat(dir, "a", dir, "b") < 0 ||
        unlinkat(dir, "b", 0) < 0)
        _exit(1);
}

static void assert_told(const struct told *told, bool own)
{
    uint64_t wanted = FAN_CREATE | FAN_CLOSE_WRITE | FAN_ATTRIB | FAN_RENAME |
                      FAN_DELETE;

    g_assert_cmphex(told->mask & wanted, ==, wanted);
    g_assert_true(own ? told->own && !told->other : told->other && !told->own);
    g_assert_true(told->handle && !told->strange);
    g_assert_nonnull(strstr(told->names, "a "));
    g_assert_nonnull(strstr(told->names, "b "));
}

/* Run in a child, since it may change its user. */
static void run_child(const char *path, bool drop)
{
    union {
        struct file_handle handle;
        char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } space = { .handle.handle_bytes = MAX_HANDLE_SZ };
    struct told told;
    int fan, dir, mount, status;
    pid_t pid;

    if (drop && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
        _exit(1);
    fan = fanotify_init(INIT_FLAGS, O_RDONLY);
    dir = open(path, O_RDONLY | O_DIRECTORY);
    if (fan < 0 || dir < 0 ||
        fanotify_mark(fan, FAN_MARK_ADD | FAN_MARK_ONLYDIR, EVENTS, dir, ".") <
            0 ||
        name_to_handle_at(dir, "", &space.handle, &mount, AT_EMPTY_PATH) < 0) {
        printf("# %s\n", strerror(errno));
        _exit(SKIP);
    }
    change(dir);
    told = read_all(fan, &space.handle);
    assert_told(&told, true);
    pid = fork();
    if (pid == 0) {
        change(dir);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_cmpint(status, ==, 0);
    told = read_all(fan, &space.handle);
    assert_told(&told, false);
    _exit(0);
}

static void run(bool drop)
{
    g_autofree char *path = g_dir_make_tmp("assume-XXXXXX", NULL);
    int status;
    pid_t pid;

    g_assert_nonnull(path);
    if (drop)
        g_assert_cmpint(chown(path, NOBODY, NOBODY), ==, 0);
    pid = fork();
    if (pid == 0)
        run_child(path, drop);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_rmdir(path);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP)
        g_test_skip("no fanotify with file handles here: inotify is used");
    else
        g_assert_cmpint(status, ==, 0);
}

static void as_we_are(void)
{
    run(false);
}

static void without_privileges(void)
{
    if (geteuid() == 0)
        run(true);
    else
        g_test_skip("we have none");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fanotify/as-we-are", as_we_are);
    g_test_add_func("/fanotify/without-privileges", without_privileges);
    return g_test_run();
}
