/* SPDX-License-Identifier: Apache-2.0
 *
 * room - see room.h.
 */
#include "local/room.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"

enum { MAX_NAME = 255 };

static int open_child(int parent, const char *name)
{
    const struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };

    return (int)syscall(SYS_openat2, parent, name, &how, sizeof(how));
}

/* Return whether a folder is in the file system that bubblewrap has made for
 * the root. */
static bool is_of_root(int folder)
{
    struct stat here, root;

    return fstat(folder, &here) == 0 && stat("/", &root) == 0 &&
           here.st_dev == root.st_dev;
}

/* Make a child of a folder whose mount is read-only: through a second mount of
 * it that no process of the sandbox sees. */
static int make_hidden(int parent, const char *name)
{
    struct mount_attr attributes = { .attr_clr = MOUNT_ATTR_RDONLY };
    fd_auto int tree = -1;

    if (!is_of_root(parent)) {
        errno = EROFS;
        return -1;
    }
    tree = open_tree(parent, "",
                     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attributes,
                                  sizeof(attributes)) < 0)
        return -1;
    return mkdirat(tree, name, 0755);
}

static int make_child(int parent, const char *name)
{
    if (mkdirat(parent, name, 0755) == 0 || errno == EEXIST ||
        (errno == EROFS && make_hidden(parent, name) == 0) || errno == EEXIST)
        return open_child(parent, name);
    return -1;
}

/* Open the next folder of a path, and advance the path. */
static int step_into(int parent, const char **path, bool make)
{
    size_t length = strcspn(*path, "/");
    char name[MAX_NAME + 1];
    int child;

    if (length > MAX_NAME) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(name, *path, length);
    name[length] = '\0';
    *path += length + strspn(*path + length, "/");
    if (strcmp(name, "..") == 0) {
        errno = EINVAL;
        return -1;
    }
    child = open_child(parent, name);
    if (child < 0 && errno == ENOENT && make)
        child = make_child(parent, name);
    return child;
}

/* Open the folder at a path that ends before this address, or at its end. */
static int walk(const char *path, const char *end, bool make)
{
    int folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    path += strspn(path, "/");
    while (folder >= 0 && *path && path != end) {
        int child = step_into(folder, &path, make);
        int reason = errno;

        fd_close(&folder);
        folder = child;
        errno = reason;
    }
    return folder;
}

int room_open(const char *path, bool make)
{
    return walk(path, NULL, make);
}

int room_open_parent(const char *path, const char **ret_name)
{
    *ret_name = strrchr(path, '/') + 1;
    return walk(path, *ret_name, false);
}
