/* SPDX-License-Identifier: Apache-2.0
 *
 * tree_walk - see tree_walk.h.
 */
#include "interceptor/sys/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "interceptor/sys/sys.h"
#include "interceptor/sys/walker.h"

/* A directory. All live until the end, since the walker moves along them. */
struct folder {
    const struct folder *parent; /* NULL for the top */
    char *name;
    unsigned depth;
    dev_t dev;
    ino_t ino;
};

struct tree {
    GPtrArray *folders; /* owned */
    GPtrArray *stack;   /* borrowed: not visited yet */
    tree_visit *visit;
    tree_relax *relax;
    void *opaque;
};

static void folder_free(gpointer data)
{
    struct folder *folder = data;

    g_free(folder->name);
    g_free(folder);
}

static gconstpointer folder_parent(gconstpointer node)
{
    return ((const struct folder *)node)->parent;
}

static const char *folder_name(gconstpointer node)
{
    return ((const struct folder *)node)->name;
}

static unsigned folder_depth(gconstpointer node)
{
    return ((const struct folder *)node)->depth;
}

static bool folder_is(gconstpointer node, const struct stat *st)
{
    const struct folder *folder = node;

    return folder->ino == st->st_ino && folder->dev == st->st_dev;
}

static int add_folder(struct tree *t, const struct folder *parent, int dirfd,
                      const char *name)
{
    struct folder *folder;
    struct stat st;
    int rc = name[0] ? sys_stat_name(dirfd, name, &st)
                     : sys_stat_fd(dirfd, &st);

    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    if (!S_ISDIR(st.st_mode))
        return 0;
    folder = g_new(struct folder, 1);
    folder->parent = parent;
    folder->name = g_strdup(name);
    folder->depth = parent ? parent->depth + 1 : 0;
    folder->dev = st.st_dev;
    folder->ino = st.st_ino;
    g_ptr_array_add(t->folders, folder);
    g_ptr_array_add(t->stack, folder);
    return 0;
}

static int open_folder(const struct tree *t, int dirfd)
{
    int fd = sys_openat(dirfd, ".", O_RDONLY | O_DIRECTORY, 0);

    if (fd == -EACCES && t->relax) {
        t->relax(dirfd, t->opaque);
        fd = sys_openat(dirfd, ".", O_RDONLY | O_DIRECTORY, 0);
    }
    return fd;
}

struct listing {
    struct tree *tree;
    const struct folder *folder;
};

static int look_at(int fd, const struct dirent *entry, void *opaque)
{
    const struct listing *listing = opaque;
    int rc = listing->tree->visit(fd, entry, listing->tree->opaque);

    return rc == TREE_ENTER
               ? add_folder(listing->tree, listing->folder, fd, entry->d_name)
               : rc;
}

static int look_into(struct tree *t, const struct folder *folder, int dirfd)
{
    struct listing listing = { t, folder };

    return sys_dir_each_fd(open_folder(t, dirfd), look_at, &listing);
}

static int walk(struct tree *t, struct walker *walker)
{
    int rc = 0;

    while (rc == 0 && t->stack->len > 0) {
        const struct folder *folder = g_ptr_array_steal_index_fast(
            t->stack, t->stack->len - 1);
        int fd = walker_go(walker, folder);

        if (fd != -ENOENT && fd != -ESTALE)
            rc = fd < 0 ? fd : look_into(t, folder, fd);
        if (rc == -EACCES && !t->relax)
            rc = 0;
    }
    return rc;
}

int tree_walk(int top, tree_visit *visit, tree_relax *relax, void *opaque)
{
    struct walker_ops ops = {
        .parent = folder_parent,
        .name = folder_name,
        .depth = folder_depth,
        .is = folder_is,
        .relax = relax,
    };
    g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func(folder_free);
    g_autoptr(GPtrArray) stack = g_ptr_array_new();
    struct tree t = { folders, stack, visit, relax, opaque };
    struct walker walker;
    int rc = add_folder(&t, NULL, top, "");

    if (rc < 0 || folders->len == 0)
        return rc < 0 ? rc : -ENOTDIR;
    walker_init(&walker, &ops, top, g_ptr_array_index(folders, 0));
    walker.opaque = opaque;
    rc = walk(&t, &walker);
    walker_clear(&walker);
    return rc;
}
