/* SPDX-License-Identifier: Apache-2.0
 *
 * held - see held.h.
 */
#include "interceptor/held.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdlib.h>

#include "common/fd.h"
#include "interceptor/inode.h"
#include "interceptor/step.h"
#include "interceptor/sys.h"
#include "interceptor/tree_walk.h"

struct held_links {
    pthread_mutex_t lock;
    dev_t share_dev;
    GHashTable *counts; /* owned uint64_t ino -> count */
    struct inode_table *table;
};

struct held_links *held_links_new(dev_t share_dev)
{
    struct held_links *held = g_new0(struct held_links, 1);

    pthread_mutex_init(&held->lock, NULL);
    held->share_dev = share_dev;
    held->counts = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                         NULL);
    return held;
}

void held_links_free(struct held_links *held)
{
    if (!held)
        return;
    g_hash_table_unref(held->counts);
    pthread_mutex_destroy(&held->lock);
    g_free(held);
}

void held_links_set_table(struct held_links *held, struct inode_table *table)
{
    held->table = table;
}

static int count_locked(struct held_links *held, uint64_t ino)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(held->counts, &ino));
}

unsigned held_links_count(dev_t dev, ino_t ino, void *opaque)
{
    struct held_links *held = opaque;
    int count;

    if (dev != held->share_dev)
        return 0;
    pthread_mutex_lock(&held->lock);
    count = count_locked(held, ino);
    pthread_mutex_unlock(&held->lock);
    return (unsigned)count;
}

void held_links_change(struct held_links *held, uint64_t ino, int delta)
{
    struct ic_inode *inode;
    int count;

    pthread_mutex_lock(&held->lock);
    count = MAX(count_locked(held, ino) + delta, 0);
    if (count > 0)
        g_hash_table_insert(held->counts, g_memdup2(&ino, sizeof(ino)),
                            GINT_TO_POINTER(count));
    else
        g_hash_table_remove(held->counts, &ino);
    pthread_mutex_unlock(&held->lock);

    inode = held->table ? inode_table_find(held->table, held->share_dev, ino)
                        : NULL;
    if (inode) {
        atomic_store(&inode->log_links, (unsigned)count);
        ic_inode_unref(inode);
    }
}

struct kept {
    struct held_links *held;
    int delta;
};

static int change_entry(int dirfd, const struct dirent *entry, void *opaque)
{
    const struct kept *kept = opaque;
    struct stat st;

    if (sys_stat_name(dirfd, entry->d_name, &st) < 0)
        return TREE_SKIP;
    if (S_ISDIR(st.st_mode))
        return TREE_ENTER;
    held_links_change(kept->held, st.st_ino, kept->delta);
    return TREE_SKIP;
}

int held_links_change_kept(struct held_links *held, int blobs, uint64_t ino,
                           int delta)
{
    struct kept kept = { held, delta };
    fd_auto int fd = sys_openat(blobs, step_inode_blob(ino).text,
                                O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);

    if (fd < 0 && fd != -ENOTDIR && fd != -ENOENT && fd != -ELOOP)
        return fd;
    held_links_change(held, ino, delta);
    return fd < 0 ? 0 : tree_walk(fd, change_entry, NULL, &kept);
}

int held_links_change_all(struct held_links *held, int blobs, int delta)
{
    int fd = sys_openat(blobs, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!dir)
        return fd < 0 ? fd : -errno;
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == 'i')
            held_links_change_kept(
                held, fd, strtoull(entry->d_name + 1, NULL, 10), delta);
    }
    closedir(dir);
    return 0;
}
