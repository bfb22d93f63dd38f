/* SPDX-License-Identifier: Apache-2.0
 *
 * host_walk - see host_walk.h.
 *
 * One component at a time: O_PATH without O_DIRECTORY does not mount what the
 * last component stands for (open(2)), and a symlink is read, not followed.
 */
#include "agent/session/host_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/fd.h"

enum { MAX_SYMLINKS = 40 };

struct walk {
    int fd;     /* of real */
    char *real; /* resolved; "/" or without a slash at its end */
    char *rest; /* not yet; may begin with slashes */
    unsigned symlinks;
};

static int start_at_root(struct walk *walk)
{
    fd_close(&walk->fd);
    walk->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    g_free(walk->real);
    walk->real = g_strdup("/");
    return walk->fd < 0 ? -errno : 0;
}

/* Go on with this path, then the rest. */
static void put_before(struct walk *walk, const char *path)
{
    const char *after = walk->rest + strspn(walk->rest, "/");
    char *rest = g_strconcat(path, *after ? "/" : "", after, NULL);

    g_free(walk->rest);
    walk->rest = rest;
}

static int is_automounter(int fd)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return -errno;
    return fs.f_type == AUTOFS_SUPER_MAGIC;
}

/* Return an fd of an entry, or a negative errno. */
static int open_entry(int parent, const char *name)
{
    struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC };
    int remote = is_automounter(parent), fd;

    if (remote < 0)
        return remote;
    if (remote)
        how.resolve = RESOLVE_CACHED; /* what the kernel has, or EAGAIN */
    fd = (int)syscall(SYS_openat2, parent, name, &how, sizeof(how));
    if (fd < 0)
        return remote && errno == EAGAIN ? -EREMOTE : -errno;
    return fd;
}

static int follow(struct walk *walk, int link)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(link, "", target, sizeof(target) - 1);

    if (len <= 0)
        return len < 0 ? -errno : -ENOENT;
    if (++walk->symlinks > MAX_SYMLINKS)
        return -ELOOP;
    target[len] = '\0';
    put_before(walk, target);
    return target[0] == '/' ? start_at_root(walk) : 0;
}

/* Start again, with the path of the parent before the rest. */
static int go_up(struct walk *walk)
{
    g_autofree char *parent = g_path_get_dirname(walk->real);

    put_before(walk, parent);
    return start_at_root(walk);
}

/* Go on within this entry, whose fd is taken. */
static int enter(struct walk *walk, const char *name, int fd)
{
    char *real = g_build_filename(walk->real, name, NULL);

    fd_close(&walk->fd);
    walk->fd = fd;
    g_free(walk->real);
    walk->real = real;
    return 0;
}

/* Resolve the first component of the rest. On failure it stays there. */
static int resolve_one(struct walk *walk)
{
    const char *begin = walk->rest + strspn(walk->rest, "/");
    size_t len = strcspn(begin, "/");
    g_autofree char *name = g_strndup(begin, len);
    g_autofree char *all = walk->rest;
    bool up = strcmp(name, "..") == 0;
    fd_auto int fd = -1;
    struct stat st;
    int r = 0;

    if (!up && len > 0 && strcmp(name, ".") != 0) {
        fd = open_entry(walk->fd, name);
        if (fd < 0 || fstat(fd, &st) < 0) {
            g_steal_pointer(&all);
            return fd < 0 ? fd : -errno;
        }
    }
    walk->rest = g_strdup(begin + len);
    if (up)
        r = go_up(walk);
    else if (fd >= 0)
        r = S_ISLNK(st.st_mode) ? follow(walk, fd)
                                : enter(walk, name, fd_steal(&fd));
    if (r < 0) {
        g_free(walk->rest);
        walk->rest = g_steal_pointer(&all);
    }
    return r;
}

static int check_end(int fd)
{
    int remote = is_automounter(fd);
    struct stat st;

    if (remote < 0 || fstat(fd, &st) < 0)
        return remote < 0 ? remote : -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    return remote ? -EREMOTE : 0;
}

int host_walk(const char *path, char **ret_real)
{
    struct walk walk = { .fd = -1, .rest = g_strdup(path) };
    int r = start_at_root(&walk);

    while (r == 0 && walk.rest[0] != '\0')
        r = resolve_one(&walk);
    if (r == 0)
        r = check_end(walk.fd);
    *ret_real = walk.rest[0] != '\0'
                    ? g_build_filename(walk.real, walk.rest, NULL)
                    : g_strdup(walk.real);
    if (r < 0)
        fd_close(&walk.fd);
    g_free(walk.real);
    g_free(walk.rest);
    return r < 0 ? r : walk.fd;
}
