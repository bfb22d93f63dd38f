/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_walk - see mcp_walk.h.
 *
 * The order is by the bytes of the names, component by component. A page's
 * start is found by comparing names with the components of a path, which may no
 * longer exist.
 *
 * The work limit of a page is checked when a folder is entered: a folder may
 * have any number of names, and the next page would have to read them again.
 * The folders on the way to a page's start do not count, otherwise every page
 * would end at its first entry.
 */
#include "agent/mcp/mcp_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log_name.h"

enum {
    MAX_DEPTH = 128,
    MAX_NAMES = 1 << 17, /* per folder */
    MAX_WORK = 50000,    /* per page; beyond it no further folder is entered */
};

struct walk {
    GPtrArray *found;
    unsigned max, work;
    char *last; /* the last path visited */
    bool stopped;
};

static void entry_free(gpointer data)
{
    struct mcp_walk_entry *entry = data;

    g_free(entry->path);
    g_free(entry);
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Return the sorted names in a folder; fd is taken. */
static GPtrArray *read_names(int fd)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    DIR *stream = fdopendir(fd);
    struct dirent *entry;

    if (!stream) {
        fd_close(&fd);
        return names;
    }
    while (names->len < MAX_NAMES && (entry = readdir(stream))) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0 && !log_name_is(entry->d_name))
            g_ptr_array_add(names, g_strdup(entry->d_name));
    }
    closedir(stream);
    g_ptr_array_sort(names, compare_names);
    return names;
}

static void walk_folder(struct walk *walk, int fd, const char *prefix,
                        const char *after, unsigned depth);

static bool may_enter(struct walk *walk, const char *name, const char *after,
                      unsigned depth)
{
    if (strcmp(name, ".git") == 0 || depth >= MAX_DEPTH)
        return false;
    /* At least one entry must have been visited, or the next page would be the
     * same. */
    walk->stopped = !after && walk->last && walk->work >= MAX_WORK;
    return !walk->stopped;
}

static void take_file(struct walk *walk, const char *path,
                      const struct stat *st)
{
    struct mcp_walk_entry *entry;

    if (walk->found->len >= walk->max) {
        walk->stopped = true;
        return;
    }
    entry = g_new0(struct mcp_walk_entry, 1);
    entry->path = g_strdup(path);
    entry->st = *st;
    g_ptr_array_add(walk->found, entry);
}

/* after: the remaining components of the start path within this folder, NULL:
 * visit all. */
static void visit(struct walk *walk, int fd, const char *name, const char *path,
                  const char *after, unsigned depth)
{
    struct stat st;

    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (S_ISREG(st.st_mode) && !after) {
        take_file(walk, path, &st);
    } else if (S_ISDIR(st.st_mode) && may_enter(walk, name, after, depth)) {
        fd_auto int sub = openat(
            fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (sub >= 0)
            walk_folder(walk, sub, path, after, depth + 1);
    }
}

static void note_last(struct walk *walk, const char *path)
{
    g_free(walk->last);
    walk->last = g_strdup(path);
}

static void walk_folder(struct walk *walk, int fd, const char *prefix,
                        const char *after, unsigned depth)
{
    g_autoptr(GPtrArray) names = read_names(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    const char *slash = after ? strchr(after, '/') : NULL;
    g_autofree char *first = after ? g_strndup(after,
                                               slash ? (gsize)(slash - after)
                                                     : strlen(after))
                                   : NULL;

    if (!after && depth > 0)
        walk->work += names->len;
    for (guint i = 0; i < names->len && !walk->stopped; i++) {
        const char *name = g_ptr_array_index(names, i);
        int order = first ? strcmp(name, first) : 1;
        g_autofree char *path = *prefix ? g_strconcat(prefix, "/", name, NULL)
                                        : g_strdup(name);

        if (order < 0 || (order == 0 && !slash))
            continue; /* at or before the start: already visited */
        visit(walk, fd, name, path, order == 0 ? slash + 1 : NULL, depth);
        if (walk->stopped)
            break;
        note_last(walk, path);
        walk->work++;
    }
}

GPtrArray *mcp_walk(int root_fd, const char *after, unsigned max,
                    char **ret_next)
{
    struct walk walk = { .max = max };
    fd_auto int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    walk.found = g_ptr_array_new_with_free_func(entry_free);
    if (fd >= 0)
        walk_folder(&walk, fd, "", *after ? after : NULL, 0);
    *ret_next = walk.stopped ? g_steal_pointer(&walk.last) : NULL;
    g_free(walk.last);
    return walk.found;
}
