/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_fds - see inode.h: closing the fds of inodes, and opening them again.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "interceptor/inode.h"
#include "interceptor/sys.h"

/* Of closed folders above one another; places may also lead in a circle. */
#define MAX_DEPTH 65536u

/* ---- prints -------------------------------------------------------------- */

struct print {
    uint64_t hash; /* 0: nothing is known but the number */
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    };
    bool has_handle;
};

static uint64_t hash_bytes(const void *data, size_t len, uint64_t hash)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    return hash;
}

static void read_print(const struct ic_inode *inode, int fd,
                       struct print *ret_print)
{
    const struct inode_table_limits *limits = inode_table_limits(inode->table);
    uint64_t hash = 0xcbf29ce484222325ull;
    struct statx sx;
    int mount;

    *ret_print = (struct print){ .handle.handle_bytes = MAX_HANDLE_SZ };
    if (limits->has_handles && inode->dev == limits->dev &&
        name_to_handle_at(fd, "", &ret_print->handle, &mount, AT_EMPTY_PATH) ==
            0) {
        ret_print->has_handle = true;
        hash = hash_bytes(&ret_print->handle.handle_type, sizeof(int), hash);
        ret_print->hash = hash_bytes(ret_print->handle.f_handle,
                                     ret_print->handle.handle_bytes, hash);
    } else if (limits->has_births &&
               statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &sx) == 0 &&
               sx.stx_mask & STATX_BTIME) {
        hash = hash_bytes(&sx.stx_btime.tv_sec, sizeof(sx.stx_btime.tv_sec),
                          hash);
        ret_print->hash = hash_bytes(&sx.stx_btime.tv_nsec,
                                     sizeof(sx.stx_btime.tv_nsec), hash);
    }
}

static struct file_handle *copy_handle(const struct print *print)
{
    return g_memdup2(&print->handle,
                     sizeof(print->handle) + print->handle.handle_bytes);
}

/* ---- closing ------------------------------------------------------------- */

/* Is it where it was last seen, as far as that can be told without opening
 * others? With inode->lock held. */
static bool is_in_place(struct ic_inode *inode)
{
    struct ic_inode *parent = inode->parent;
    struct stat st;
    int rc;

    if (!parent)
        return false;
    if (!inode_try_use(parent))
        return true;
    rc = sys_stat_name(parent->fd, inode->name, &st);
    /* The hold in inode->parent remains: this is never the last. */
    ic_inode_unref(parent);
    return rc == 0 && st.st_ino == inode->ino && st.st_dev == inode->dev;
}

static bool can_open_again(struct ic_inode *inode, const struct print *print)
{
    const struct inode_table_limits *limits = inode_table_limits(inode->table);
    struct stat st;

    if (sys_stat_fd(inode->fd, &st) < 0)
        return false;
    /* Removed: what the log has of it is no name of the client's. */
    if (st.st_nlink == 0 || (atomic_load(&inode->log_links) > 0 &&
                             (S_ISDIR(inode->type) ||
                              st.st_nlink <= atomic_load(&inode->log_links))))
        return false;
    return (print->has_handle && limits->handles != IC_FILE_HANDLES_NEVER) ||
           is_in_place(inode);
}

static bool close_locked(struct ic_inode *inode)
{
    const struct inode_table_limits *limits = inode_table_limits(inode->table);
    struct print print;

    read_print(inode, inode->fd, &print);
    if (!can_open_again(inode, &print))
        return false;
    inode->print = print.hash;
    if (print.has_handle && limits->handles != IC_FILE_HANDLES_NEVER)
        inode->handle = copy_handle(&print);
    fd_close(&inode->fd);
    return true;
}

bool inode_close(struct ic_inode *inode)
{
    bool closed = false;

    pthread_mutex_lock(&inode->lock);
    /* Somebody may have wanted it meanwhile. */
    if (atomic_load(&inode->counts) & INODE_CLOSED) {
        closed = inode->fd < 0 || close_locked(inode);
        if (!closed)
            atomic_fetch_and(&inode->counts, ~INODE_CLOSED);
    }
    pthread_mutex_unlock(&inode->lock);
    ic_inode_unhold(inode);
    return closed;
}

/* ---- opening ------------------------------------------------------------- */

static void take_fd(struct ic_inode *inode, int fd)
{
    inode->fd = fd;
    inode->opened = inode_clock();
}

/* With inode->lock held and an fd there: a reference. */
static void open_locked(struct ic_inode *inode)
{
    g_clear_pointer(&inode->handle, g_free);
    atomic_fetch_add(&inode->counts, INODE_REFERENCE);
    atomic_fetch_and(&inode->counts, ~INODE_CLOSED);
}

int inode_adopt(struct ic_inode *inode, int *inout_fd)
{
    struct print print;
    int rc = 0;

    read_print(inode, *inout_fd, &print);
    pthread_mutex_lock(&inode->lock);
    if (!inode_try_use(inode)) {
        if (inode->fd < 0 && print.hash != inode->print)
            rc = -ESTALE;
        else if (inode->fd < 0)
            take_fd(inode, fd_steal(inout_fd));
        if (rc == 0)
            open_locked(inode);
    }
    pthread_mutex_unlock(&inode->lock);
    if (rc == 0)
        inode_ring_add(inode);
    return rc;
}

static int adopt_found(struct ic_inode *inode, int found)
{
    fd_auto int fd = found;
    struct stat st;
    int rc = sys_stat_fd(fd, &st);

    if (rc == 0 && (st.st_ino != inode->ino || st.st_dev != inode->dev))
        rc = -ESTALE;
    return rc < 0 ? rc : inode_adopt(inode, &fd);
}

/* Not of the file: nothing is said about it. */
static bool is_shortage(int rc)
{
    return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM;
}

static int open_by_handle(struct ic_inode *inode)
{
    g_autofree struct file_handle *handle = NULL;
    int fd;

    pthread_mutex_lock(&inode->lock);
    if (inode->handle)
        handle = g_memdup2(inode->handle,
                           sizeof(*handle) + inode->handle->handle_bytes);
    pthread_mutex_unlock(&inode->lock);
    if (!handle)
        return -ESTALE;
    fd = sys_open_handle(inode_table_limits(inode->table)->mount_fd, handle,
                         O_PATH | O_NOFOLLOW);
    if (fd < 0)
        return is_shortage(fd) ? fd : -ESTALE;
    return adopt_found(inode, fd);
}

/* By name, which gives a path that Landlock and others can follow upwards; the
 * handle knows files that others have renamed. parent is in use. */
static int open_by_name(struct ic_inode *inode, struct ic_inode *parent,
                        const char *name)
{
    int fd = sys_openat(parent->fd, name, O_PATH | O_NOFOLLOW, 0);
    int rc = fd < 0 ? fd : adopt_found(inode, fd);

    return rc == 0 || is_shortage(rc) ? rc : open_by_handle(inode);
}

/* 0 and a reference; 1: its parent (a new hold) must be opened first; or
 * -errno. */
static int open_one(struct ic_inode *inode, struct ic_inode **ret_parent)
{
    struct ic_inode *parent = NULL;
    char name[NAME_MAX + 1];
    bool is_open;
    int rc;

    if (inode_try_use(inode))
        return 0;
    pthread_mutex_lock(&inode->lock);
    /* About to be closed, or another thread was quicker. */
    is_open = inode_try_use(inode);
    if (!is_open && inode->fd >= 0) {
        open_locked(inode);
        is_open = true;
    }
    if (!is_open && inode->parent) {
        parent = ic_inode_hold(inode->parent);
        g_strlcpy(name, inode->name, sizeof(name));
    }
    pthread_mutex_unlock(&inode->lock);
    if (is_open) {
        inode_ring_add(inode);
        return 0;
    }
    if (!parent)
        return open_by_handle(inode);
    if (!inode_try_use(parent)) {
        *ret_parent = parent;
        return 1;
    }
    rc = open_by_name(inode, parent, name);
    ic_inode_unref(parent);
    ic_inode_unhold(parent);
    return rc;
}

static void unhold(gpointer inode)
{
    ic_inode_unhold(inode);
}

/* From the nearest that is open, downwards. */
static int open_chain(struct ic_inode *inode)
{
    g_autoptr(GPtrArray) chain = g_ptr_array_new_with_free_func(unhold);
    unsigned left = MAX_DEPTH;
    int rc = 0;

    g_ptr_array_add(chain, ic_inode_hold(inode));
    while (chain->len > 0 && left-- > 0) {
        struct ic_inode *at = g_ptr_array_index(chain, chain->len - 1);
        struct ic_inode *parent;

        rc = open_one(at, &parent);
        if (rc > 0) {
            g_ptr_array_add(chain, parent);
            continue;
        }
        /* The path is lost; the handle may be not. */
        if (rc == -ESTALE && at != inode)
            return open_by_handle(inode);
        if (rc < 0 || at == inode)
            return rc;
        /* It was used just now, so it will be open in the next turn. */
        ic_inode_unref(at);
        g_ptr_array_set_size(chain, (int)chain->len - 1);
    }
    return -ESTALE;
}

int inode_use(struct ic_inode *inode)
{
    return inode_try_use(inode) ? 0 : open_chain(inode);
}

/* ---- what the door removes ----------------------------------------------- */

static void clear_place(struct ic_inode *inode, const struct ic_inode *dir,
                        const char *name)
{
    struct ic_inode *old = NULL;

    pthread_mutex_lock(&inode->lock);
    if (inode->parent == dir && strcmp(inode->name, name) == 0) {
        old = g_steal_pointer(&inode->parent);
        g_clear_pointer(&inode->name, g_free);
        atomic_store_explicit(&inode->place_print, 0, memory_order_relaxed);
    }
    pthread_mutex_unlock(&inode->lock);
    ic_inode_unhold(old);
}

void inode_table_note_removed(struct inode_table *table, int fd,
                              const struct ic_inode *dir, const char *name)
{
    fd_auto int victim = fd;
    struct ic_inode *inode;
    struct stat st;

    if (victim < 0 || sys_stat_fd(victim, &st) < 0)
        return;
    inode = inode_table_find(table, st.st_dev, st.st_ino);
    if (!inode)
        return;
    if (inode_try_use(inode) || inode_adopt(inode, &victim) == 0) {
        clear_place(inode, dir, name);
        ic_inode_unref(inode);
    }
    ic_inode_unhold(inode);
}
