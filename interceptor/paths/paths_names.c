/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_names - see paths_names.h.
 */
#include "interceptor/paths/paths_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "common/fd.h"
#include "interceptor/capture/search.h"
#include "interceptor/engine/engine.h"
#include "interceptor/sys/sys.h"

/* ---- inodes to find ------------------------------------------------------ */

/* Count, by inode number, the present names that the plan knows. */
static void count_names(const struct paths_node *node, GHashTable *counts)
{
    if (node->exists && !S_ISDIR(node->mode)) {
        guint count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, &node->ino));

        g_hash_table_insert(counts, (gpointer)&node->ino,
                            GUINT_TO_POINTER(count + 1));
    }
    for (guint i = 0; i < node->children->len; i++)
        count_names(g_ptr_array_index(node->children, i), counts);
}

static bool has_name_now(const GPtrArray *names)
{
    bool found = false;

    for (guint i = 0; !found && i < names->len; i++) {
        const struct paths_node *node = g_ptr_array_index(names, i);

        found = !(node->changes & PATHS_MAKE);
    }
    return found;
}

/* Add the inode that had these names if it has different ones now. 0 or -errno.
 */
static int want(const struct paths_plan *plan, const GPtrArray *names,
                GHashTable *counts, GHashTable *wanted)
{
    const struct ic *ic = plan->past.ic;
    struct past_node then;
    guint known, held;
    struct stat st;
    int rc;

    if (has_name_now(names))
        return 0;
    rc = paths_resolve_then(plan, g_ptr_array_index(names, 0), &then);
    if (rc == 0 && then.fd >= 0)
        rc = sys_stat_fd(then.fd, &st);
    if (rc == 0 && then.fd >= 0 && st.st_dev == ic->root->dev) {
        known = GPOINTER_TO_UINT(g_hash_table_lookup(counts, &then.ino));
        held = log_links_count(st.st_dev, st.st_ino, ic->log_links);
        if (st.st_nlink > known + held)
            search_set_add(wanted, then.ino);
    }
    if (rc == 0)
        past_node_clear(&then);
    return rc;
}

static gboolean want_all(const struct paths_plan *plan, GHashTable *wanted,
                         GError **error)
{
    g_autoptr(GHashTable)
        counts = g_hash_table_new(g_int64_hash, g_int64_equal);
    GHashTableIter iter;
    gpointer value;

    count_names(plan->root, counts);
    g_hash_table_iter_init(&iter, plan->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const GPtrArray *names = value;
        int rc = want(plan, names, counts, wanted);

        if (rc < 0)
            return paths_fail(g_ptr_array_index(names, 0), rc, error);
    }
    return TRUE;
}

/* ---- searching the tree -------------------------------------------------- */

struct finder {
    dev_t dev;
    unsigned depth;
    GHashTable *wanted;
    GString *path;    /* of the directory being read; empty: the root */
    GPtrArray *found; /* owned paths */
};

static int read_folder(struct finder *f, int fd);

static int enter(struct finder *f, int dirfd, const char *name)
{
    struct stat st;
    int rc = sys_stat_name(dirfd, name, &st);

    /* A mount point is not part of the share. */
    if (rc < 0 || !S_ISDIR(st.st_mode) || st.st_dev != f->dev)
        return rc;
    return read_folder(
        f, sys_openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0));
}

static int look_at(int fd, const struct dirent *entry, void *opaque)
{
    const uint64_t ino = entry->d_ino;
    struct finder *f = opaque;
    gsize len = f->path->len;
    int rc = 0;

    if (len > 0)
        g_string_append_c(f->path, '/');
    g_string_append(f->path, entry->d_name);
    if (g_hash_table_contains(f->wanted, &ino))
        g_ptr_array_add(f->found, g_strdup(f->path->str));
    else if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)
        rc = enter(f, fd, entry->d_name);
    g_string_truncate(f->path, len);
    return rc;
}

/* fd: taken. */
static int read_folder(struct finder *f, int fd)
{
    int rc;

    f->depth++;
    rc = f->depth > PATHS_MAX_DEPTH && fd >= 0 ? -ENAMETOOLONG : 0;
    if (rc < 0)
        fd_close(&fd);
    else
        rc = sys_dir_each_fd(fd, look_at, f);
    f->depth--;
    return rc;
}

static int read_node(const struct paths_plan *plan,
                     const struct paths_node *node, struct finder *f)
{
    struct past_node now;
    int rc = paths_resolve_now(plan, node, &now);

    if (rc < 0)
        return rc;
    if (node->parent) {
        g_autofree char *path = paths_node_path(node);

        g_string_assign(f->path, path);
    }
    rc = read_folder(f, sys_reopen(now.fd, O_RDONLY | O_DIRECTORY));
    past_node_clear(&now);
    return rc;
}

/* Read the topmost directories that are asked for. */
static gboolean read_asked(const struct paths_plan *plan,
                           const struct paths_node *node, struct finder *f,
                           GError **error)
{
    int rc = 0;

    if (node->asked) {
        if (node->exists && S_ISDIR(node->mode) &&
            !(node->changes & PATHS_REMOVE))
            rc = read_node(plan, node, f);
        return rc == 0 || paths_fail(node, rc, error);
    }
    for (guint i = 0; i < node->children->len; i++) {
        if (!read_asked(plan, g_ptr_array_index(node->children, i), f, error))
            return FALSE;
    }
    return TRUE;
}

gboolean paths_names_find(const struct paths_plan *plan, GPtrArray *found,
                          GError **error)
{
    g_autoptr(GHashTable) wanted = search_set_new();
    g_autoptr(GString) path = g_string_new(NULL);
    struct finder f = { .dev = plan->past.ic->root->dev,
                        .wanted = wanted,
                        .path = path,
                        .found = found };

    return want_all(plan, wanted, error) &&
           (g_hash_table_size(wanted) == 0 ||
            read_asked(plan, plan->root, &f, error));
}
