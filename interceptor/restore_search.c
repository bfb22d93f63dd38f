/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_search - see restore_search.h.
 */
#include "interceptor/restore_search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/sys.h"
#include "interceptor/walker.h"

/* A directory. All are kept until the end, since the walker goes over them. */
struct folder {
    const struct folder *parent; /* NULL: the top */
    char *name;
    unsigned depth;
    struct stat st;
};

struct search {
    uint64_t ino;
    int dirfd;
    const char *name;
    GPtrArray *folders; /* owned */
    GPtrArray *stack;   /* borrowed: those to be looked into */
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

    return folder->st.st_ino == st->st_ino && folder->st.st_dev == st->st_dev;
}

static void add_folder(struct search *s, const struct folder *parent,
                       const char *name, const struct stat *st)
{
    struct folder *folder = g_new(struct folder, 1);

    folder->parent = parent;
    folder->name = g_strdup(name);
    folder->depth = parent ? parent->depth + 1 : 0;
    folder->st = *st;
    g_ptr_array_add(s->folders, folder);
    g_ptr_array_add(s->stack, folder);
}

static int look_at(struct search *s, const struct folder *parent, int fd,
                   const struct dirent *entry)
{
    bool may_be_it = entry->d_ino == s->ino;
    struct stat st;

    if (!may_be_it && entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
        return -ENOENT;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
        sys_stat_name(fd, entry->d_name, &st) < 0)
        return -ENOENT;
    if (st.st_ino == s->ino)
        return sys_linkat(fd, entry->d_name, s->dirfd, s->name);
    if (S_ISDIR(st.st_mode))
        add_folder(s, parent, entry->d_name, &st);
    return -ENOENT;
}

static int look_into(struct search *s, const struct folder *folder, int dirfd)
{
    int fd = sys_openat(dirfd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    int rc = -ENOENT;

    while (dir && rc == -ENOENT && (entry = readdir(dir)))
        rc = look_at(s, folder, fd, entry);
    if (dir)
        closedir(dir);
    return rc;
}

static int search_all(struct search *s, struct walker *walker)
{
    int rc = -ENOENT;

    while (rc == -ENOENT && s->stack->len > 0) {
        const struct folder *folder = g_ptr_array_steal_index_fast(
            s->stack, s->stack->len - 1);
        int fd = walker_go(walker, folder);

        if (fd >= 0) /* else it cannot be entered, or is gone */
            rc = look_into(s, folder, fd);
    }
    return rc;
}

int restore_search(int top, uint64_t ino, int dirfd, const char *name)
{
    static const struct walker_ops ops = {
        .parent = folder_parent,
        .name = folder_name,
        .depth = folder_depth,
        .is = folder_is,
    };
    g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func(folder_free);
    g_autoptr(GPtrArray) stack = g_ptr_array_new();
    struct search s = { ino, dirfd, name, folders, stack };
    struct walker walker;
    struct stat st;
    int rc = sys_stat_fd(top, &st);

    if (rc < 0)
        return rc;
    add_folder(&s, NULL, "", &st);
    walker_init(&walker, &ops, top, g_ptr_array_index(folders, 0));
    rc = search_all(&s, &walker);
    walker_clear(&walker);
    return rc;
}
