/* SPDX-License-Identifier: Apache-2.0
 *
 * log_links - see log_links.h.
 */
#include "interceptor/inode/log_links.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdlib.h>

#include "common/fd.h"
#include "interceptor/inode/inode.h"
#include "interceptor/log/step.h"
#include "interceptor/sys/sys.h"
#include "interceptor/sys/tree_walk.h"

struct log_links {
    pthread_mutex_t lock;
    dev_t share_dev;
    GHashTable *counts; /* owned uint64_t ino -> count */
    struct inode_table *table;
};

struct log_links *log_links_new(dev_t share_dev)
{
    struct log_links *links = g_new0(struct log_links, 1);

    pthread_mutex_init(&links->lock, NULL);
    links->share_dev = share_dev;
    links->counts = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                          NULL);
    return links;
}

void log_links_free(struct log_links *links)
{
    if (!links)
        return;
    g_hash_table_unref(links->counts);
    pthread_mutex_destroy(&links->lock);
    g_free(links);
}

void log_links_set_table(struct log_links *links, struct inode_table *table)
{
    links->table = table;
}

static int count_locked(struct log_links *links, uint64_t ino)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(links->counts, &ino));
}

unsigned log_links_count(dev_t dev, ino_t ino, void *opaque)
{
    struct log_links *links = opaque;
    int count;

    if (dev != links->share_dev)
        return 0;
    pthread_mutex_lock(&links->lock);
    count = count_locked(links, ino);
    pthread_mutex_unlock(&links->lock);
    return (unsigned)count;
}

void log_links_change(struct log_links *links, uint64_t ino, int delta)
{
    struct ic_inode *inode;
    int count;

    pthread_mutex_lock(&links->lock);
    count = MAX(count_locked(links, ino) + delta, 0);
    if (count > 0)
        g_hash_table_insert(links->counts, g_memdup2(&ino, sizeof(ino)),
                            GINT_TO_POINTER(count));
    else
        g_hash_table_remove(links->counts, &ino);
    pthread_mutex_unlock(&links->lock);

    inode = links->table ? inode_table_find(links->table, links->share_dev, ino)
                         : NULL;
    if (inode) {
        atomic_store(&inode->log_links, (unsigned)count);
        ic_inode_unhold(inode);
    }
}

static int collect_entry(int dirfd, const struct dirent *entry, void *opaque)
{
    GArray *inos = opaque;
    uint64_t ino;
    struct stat st;
    int rc = sys_stat_name(dirfd, entry->d_name, &st);

    if (rc < 0)
        return rc == -ENOENT ? TREE_SKIP : rc;
    if (S_ISDIR(st.st_mode))
        return TREE_ENTER;
    ino = st.st_ino;
    g_array_append_val(inos, ino);
    return TREE_SKIP;
}

/* Dropping links is all or nothing: an inode that cannot be examined now is
 * dropped another time, and a count that is one too high would hide the next
 * file with this number. */
int log_links_change_kept(struct log_links *links, int blobs, uint64_t ino,
                          int delta)
{
    g_autoptr(GArray) inos = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    fd_auto int fd = blobs < 0
                         ? -ENOENT
                         : sys_openat(blobs, step_inode_blob(ino).text,
                                      O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    int rc = 0;

    if (fd < 0 && fd != -ENOTDIR && fd != -ENOENT && fd != -ELOOP)
        return fd;
    g_array_append_val(inos, ino);
    if (fd >= 0)
        rc = tree_walk(fd, collect_entry, NULL, inos);
    for (guint i = 0; (rc == 0 || delta > 0) && i < inos->len; i++)
        log_links_change(links, g_array_index(inos, uint64_t, i), delta);
    return rc;
}

struct change_all {
    struct log_links *links;
    int delta, rc;
};

static int change_kept(int blobs, const struct dirent *entry, void *opaque)
{
    struct change_all *all = opaque;
    int rc = 0;

    if (entry->d_name[0] == 'i')
        rc = log_links_change_kept(all->links, blobs,
                                   strtoull(entry->d_name + 1, NULL, 10),
                                   all->delta);
    all->rc = all->rc < 0 ? all->rc : rc;
    return 0;
}

int log_links_change_all(struct log_links *links, int blobs, int delta)
{
    struct change_all all = { links, delta, 0 };
    int rc = sys_dir_each(blobs, ".", change_kept, &all);

    return rc < 0 ? rc : all.rc;
}
