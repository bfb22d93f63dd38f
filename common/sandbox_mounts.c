/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_mounts - see sandbox.h: the root file system of the server.
 *
 *     /              tmpfs, read-only
 *     /proc/self/fd  the process's own, which resolves an fd to a path
 *     the common parent of share and log, or each of them, at its own path, so
 *     that messages name the paths that are valid outside
 *
 * If that parent is the root, it is used as the root. The trees are cloned
 * before anything is hidden (open_tree(2), Linux 5.2), so that no path is
 * resolved twice. The new root is mounted over the share: a directory that
 * surely exists, in a namespace of this process alone.
 */
#include "common/sandbox_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/sandbox_parts.h"

enum {
    NOTHING_TO_RUN = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC
};

/* By number: the C library has wrappers only since 2.36. */

static int open_clone(const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, AT_FDCWD, path,
                        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
}

static int attach(int tree, int dirfd, const char *name)
{
    return (int)syscall(SYS_move_mount, tree, "", dirfd, name,
                        MOVE_MOUNT_F_EMPTY_PATH);
}

/* Linux 5.12; on older kernels the other layers have to suffice. */
static int restrict_tree(int tree, uint64_t attributes)
{
    struct mount_attr attr = { .attr_set = attributes };
    long rc = syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE,
                      &attr, sizeof(attr));

    return rc < 0 && errno == ENOSYS ? 0 : (int)rc;
}

static int new_tmpfs(void)
{
    fd_auto int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);

    if (context < 0 ||
        syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "mode", "0755", 0) <
            0 ||
        syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, NOTHING_TO_RUN);
}

/* A tree that becomes a directory of the new root. */
struct branch {
    const char *path; /* outside and inside */
    unsigned flags;
    uint64_t attributes;
    int fd;
};

static gboolean clone_branches(struct branch *branches, size_t count,
                               GError **error)
{
    for (size_t i = 0; i < count; i++) {
        branches[i].fd = open_clone(branches[i].path, branches[i].flags);
        if (branches[i].fd < 0 ||
            restrict_tree(branches[i].fd, branches[i].attributes) < 0)
            return sandbox_fail(error, branches[i].path);
    }
    return TRUE;
}

/* mkdir -p below dirfd. */
static int make_path(int dirfd, const char *name)
{
    g_autofree char *path = g_strdup(name);

    for (char *end = path; end;) {
        end = strchr(end + 1, '/');
        if (end)
            *end = '\0';
        if (mkdirat(dirfd, path, 0755) < 0 && errno != EEXIST)
            return -1;
        if (end)
            *end = '/';
    }
    return 0;
}

static gboolean attach_branches(int root, const struct branch *branches,
                                size_t count, GError **error)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = branches[i].path + 1;

        if (make_path(root, name) < 0 || attach(branches[i].fd, root, name) < 0)
            return sandbox_fail(error, branches[i].path);
    }
    return TRUE;
}

/* Make root the root, and drop the old one. */
static gboolean pivot(int root, const char *place, GError **error)
{
    if (attach(root, AT_FDCWD, place) < 0)
        return sandbox_fail(error, "move_mount");
    /* As in pivot_root(2), "pivot_root(".", ".")": the old root is then on
     * top. */
    if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return sandbox_fail(error, "pivot_root");
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return sandbox_fail(error, "leaving the old root");
    return TRUE;
}

/* Build an empty root with the branches in it. */
static gboolean build(const char *place, struct branch *branches, size_t count,
                      GError **error)
{
    fd_auto int root = new_tmpfs();

    if (root < 0)
        return sandbox_fail(error, "tmpfs");
    if (!clone_branches(branches, count, error) || !pivot(root, place, error) ||
        !attach_branches(root, branches, count, error))
        return FALSE;
    if (mount(NULL, "/", NULL,
              MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV |
                  MS_NOEXEC,
              NULL) < 0)
        return sandbox_fail(error, "read-only root");
    return TRUE;
}

static bool is_root(const char *path)
{
    return path && strcmp(path, "/") == 0;
}

/* Real paths, so a text comparison suffices. */
static bool is_below(const char *top, const char *path)
{
    size_t len = top ? strlen(top) : 0;

    return is_root(top) || (top && strncmp(path, top, len) == 0 &&
                            (path[len] == '/' || path[len] == '\0'));
}

static gboolean build_branches(const struct sandbox *sandbox,
                               const struct sandbox_places *places,
                               GError **error)
{
    uint64_t read_only = sandbox->read_only ? MOUNT_ATTR_RDONLY : 0;
    struct branch branches[4] = {
        { "/proc/self/fd", 0, NOTHING_TO_RUN, -1 },
    };
    size_t count = 1;
    gboolean ok;

    if (places->common) {
        branches[count++] = (struct branch){ places->common, AT_RECURSIVE,
                                             NOTHING_TO_RUN, -1 };
    } else {
        branches[count++] = (struct branch){ places->share, AT_RECURSIVE,
                                             NOTHING_TO_RUN | read_only, -1 };
        if (places->undo_dir)
            branches[count++] = (struct branch){ places->undo_dir, 0,
                                                 NOTHING_TO_RUN, -1 };
    }
    if (places->store_dir && !is_below(places->common, places->store_dir))
        branches[count++] = (struct branch){ places->store_dir, 0,
                                             NOTHING_TO_RUN, -1 };
    ok = build(places->share, branches, count, error);
    for (size_t i = 0; i < count; i++)
        fd_close(&branches[i].fd);
    return ok;
}

gboolean sandbox_mount_root(struct sandbox *sandbox,
                            const struct sandbox_places *places, GError **error)
{
    /* Later mounts outside stay outside, and vice versa. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return sandbox_fail(error, "private mounts");
    sandbox->share = g_strdup(places->share);
    sandbox->undo_dir = g_strdup(places->undo_dir);
    sandbox->store_dir = g_strdup(places->store_dir);
    if (!is_root(places->common) && !is_root(places->share))
        return build_branches(sandbox, places, error);
    return TRUE; /* nothing can be hidden; Landlock restricts the paths */
}

/* ---- chroot -------------------------------------------------------------- */

static char *path_below(const char *top, const char *path)
{
    const char *rest = path && !is_root(top) ? path + strlen(top) : path;

    return g_strdup(rest && !*rest ? "/" : rest);
}

/* Change the root. /proc/self/fd is not below the new root, so it becomes the
 * current directory, which has no other use, and paths into it are relative. */
gboolean sandbox_change_root(struct sandbox *sandbox,
                             const struct sandbox_places *places,
                             GError **error)
{
    fd_auto int fds = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *top = places->common     ? places->common
                      : places->undo_dir ? "/"
                                         : places->share;

    if (places->store_dir && !is_below(top, places->store_dir))
        top = "/";

    if (fds < 0)
        return sandbox_fail(error, "/proc/self/fd");
    if (chroot(top) < 0 || fchdir(fds) < 0)
        return sandbox_fail(error, errno == EPERM
                                       ? "--sandbox=chroot requires root; use "
                                         "--sandbox=namespace"
                                       : "chroot");
    sandbox->share = path_below(top, places->share);
    sandbox->undo_dir = path_below(top, places->undo_dir);
    sandbox->store_dir = path_below(top, places->store_dir);
    return TRUE;
}
