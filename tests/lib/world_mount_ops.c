/* SPDX-License-Identifier: Apache-2.0
 *
 * world_mount_ops - see world_mount.h: operations as system calls.
 */
#include "tests/lib/world_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"

#define RESULT(call) ((call) < 0 ? -errno : 0)

static char *at(struct world *w, const char *path)
{
    struct mounted *m = w->state;

    if (m->cwd >= 0)
        return g_strdup_printf("/proc/self/fd/%d/%s", m->cwd, path);
    return g_build_filename(w->mount, path, NULL);
}

/* A write to a device or FIFO has no effect on the tree, and may block. */
static bool is_file(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

int mount_put(struct world *w, const char *path, int flags, const void *data,
              size_t len, off_t offset)
{
    g_autofree char *full = at(w, path);
    fd_auto int fd = open(full, flags | O_RDWR | O_CLOEXEC | O_NONBLOCK, 0644);
    ssize_t n;

    if (fd < 0)
        return -errno;
    if (!is_file(fd))
        return -ENXIO;
    if (len == 0)
        return 0;
    n = flags & O_APPEND ? write(fd, data, len) : pwrite(fd, data, len, offset);
    return n < 0 ? -errno : n == (ssize_t)len ? 0 : -EIO;
}

int mount_mkdir(struct world *w, const char *path, mode_t mode)
{
    g_autofree char *full = at(w, path);

    return RESULT(mkdir(full, mode));
}

int mount_mknod(struct world *w, const char *path, mode_t mode, dev_t dev)
{
    g_autofree char *full = at(w, path);

    return RESULT(mknod(full, mode, dev));
}

int mount_symlink(struct world *w, const char *target, const char *path)
{
    g_autofree char *full = at(w, path);

    return RESULT(symlink(target, full));
}

int mount_link(struct world *w, const char *from, const char *path)
{
    g_autofree char *full_from = at(w, from), *full = at(w, path);

    return RESULT(link(full_from, full));
}

int mount_unlink(struct world *w, const char *path)
{
    g_autofree char *full = at(w, path);

    return RESULT(unlink(full));
}

int mount_rmdir(struct world *w, const char *path)
{
    g_autofree char *full = at(w, path);

    return RESULT(rmdir(full));
}

int mount_rename(struct world *w, const char *from, const char *to,
                 unsigned flags)
{
    g_autofree char *full_from = at(w, from), *full_to = at(w, to);
    struct stat st;
    int rc = RESULT(renameat2(AT_FDCWD, full_from, AT_FDCWD, full_to, flags));

    if (rc != -ESTALE)
        return rc;
    /* Undo may have moved a directory. During a rename the kernel cannot
     * correct its idea of the directory's place, so look first, as programs do.
     */
    if (lstat(full_from, &st) < 0)
        return -errno;
    if (lstat(full_to, &st) < 0 && errno != ENOENT)
        return -errno;
    return RESULT(renameat2(AT_FDCWD, full_from, AT_FDCWD, full_to, flags));
}

int mount_chmod(struct world *w, const char *path, mode_t mode)
{
    g_autofree char *full = at(w, path);

    return RESULT(chmod(full, mode));
}

int mount_chown(struct world *w, const char *path, uid_t uid, gid_t gid)
{
    g_autofree char *full = at(w, path);

    return RESULT(lchown(full, uid, gid));
}

int mount_utimes(struct world *w, const char *path,
                 const struct timespec times[2])
{
    g_autofree char *full = at(w, path);

    return RESULT(utimensat(AT_FDCWD, full, times, AT_SYMLINK_NOFOLLOW));
}

int mount_truncate(struct world *w, const char *path, off_t size)
{
    g_autofree char *full = at(w, path);

    return RESULT(truncate(full, size));
}

int mount_setxattr(struct world *w, const char *path, const char *name,
                   const void *value, size_t len)
{
    g_autofree char *full = at(w, path);

    return RESULT(lsetxattr(full, name, value, len, 0));
}

int mount_removexattr(struct world *w, const char *path, const char *name)
{
    g_autofree char *full = at(w, path);

    return RESULT(lremovexattr(full, name));
}

int mount_fallocate(struct world *w, const char *path, int mode, off_t offset,
                    off_t len)
{
    g_autofree char *full = at(w, path);
    fd_auto int fd = open(full, O_RDWR | O_CLOEXEC | O_NONBLOCK);

    return fd < 0 ? -errno : RESULT(fallocate(fd, mode, offset, len));
}

int mount_copy_range(struct world *w, const char *from, const char *to,
                     off_t from_offset, off_t to_offset, size_t len)
{
    g_autofree char *full_from = at(w, from), *full_to = at(w, to);
    fd_auto int in = open(full_from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    fd_auto int out = open(full_to, O_RDWR | O_CLOEXEC | O_NONBLOCK);

    if (in < 0 || out < 0)
        return -errno;
    return RESULT(copy_file_range(in, &from_offset, out, &to_offset, len, 0));
}

int mount_stat(struct world *w, const char *path, struct stat *ret_stat)
{
    g_autofree char *full = at(w, path);

    return RESULT(lstat(full, ret_stat));
}

int mount_chdir(struct world *w, const char *name)
{
    struct mounted *m = w->state;
    g_autofree char *full = name ? at(w, name) : NULL;
    fd_auto int fd = name ? open(full, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

    if (name && fd < 0)
        return -errno;
    fd_close(&m->cwd);
    m->cwd = fd_steal(&fd);
    return 0;
}

/* A handle is an fd + 1: NULL is an error. */
static void *to_handle(int fd)
{
    return fd < 0 ? NULL : GINT_TO_POINTER(fd + 1);
}

static int to_fd(void *handle)
{
    return GPOINTER_TO_INT(handle) - 1;
}

void *mount_open(struct world *w, const char *path, int flags)
{
    g_autofree char *full = at(w, path);

    return to_handle(open(full, flags | O_CLOEXEC | O_NONBLOCK));
}

void *mount_tmpfile(struct world *w, const char *dir, int flags)
{
    g_autofree char *full = at(w, dir);

    return to_handle(open(full, flags | O_TMPFILE | O_CLOEXEC, 0640));
}

int mount_write(struct world *w, void *handle, const void *data, size_t len,
                off_t offset)
{
    return RESULT(pwrite(to_fd(handle), data, len, offset));
}

int mount_handle_truncate(G_GNUC_UNUSED struct world *w, void *handle,
                          off_t size)
{
    return RESULT(ftruncate(to_fd(handle), size));
}

int mount_handle_link(struct world *w, void *handle, const char *path)
{
    g_autofree char *full = at(w, path);
    g_autofree char *from = g_strdup_printf("/proc/self/fd/%d", to_fd(handle));

    return RESULT(linkat(AT_FDCWD, from, AT_FDCWD, full, AT_SYMLINK_FOLLOW));
}

/* In a separate process, which drops its privileges. */
int mount_write_as(struct world *w, const char *path, uid_t uid,
                   const void *data, size_t len, off_t offset)
{
    g_autofree char *full = at(w, path);
    fd_auto int fd = open(full, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    int status;
    pid_t pid;

    if (fd < 0)
        return -errno;
    if (!is_file(fd))
        return -ENXIO;
    pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
            setresuid(uid, uid, uid) < 0)
            _exit(errno);
        _exit(pwrite(fd, data, len, offset) < 0 ? errno : 0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -errno;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

int mount_mmap_write(struct world *w, const char *path, const void *data,
                     size_t len, off_t offset)
{
    g_autofree char *full = at(w, path);
    fd_auto int fd = open(full, O_RDWR | O_CLOEXEC);
    size_t size = len + (size_t)offset;
    char *map;
    int rc;

    if (fd < 0)
        return -errno;
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    memcpy(map + offset, data, len);
    rc = RESULT(msync(map, size, MS_SYNC));
    munmap(map, size);
    return rc;
}

int mount_handle_stat(struct world *w, void *handle, struct stat *ret_stat)
{
    return RESULT(fstat(to_fd(handle), ret_stat));
}

void mount_close(struct world *w, void *handle)
{
    close(to_fd(handle));
}
