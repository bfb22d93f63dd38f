/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_fds - see inode.h: close the fds of inodes, and open them again.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "interceptor/inode/inode_parts.h"
#include "interceptor/sys/sys.h"

/* Limit for a chain of closed folders; locations may form a circle. */
#define MAX_DEPTH 65536u

/* ---- fingerprints -------------------------------------------------------- */

struct fingerprint {
    uint64_t hash; /* 0: only the number is known */
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    };
    bool has_handle;
};

/* fds to release at once when none is left. */
#define RELEASE_FOR_VICTIM 64u

#define FIRST_HASH 0xcbf29ce484222325ull

static uint64_t hash_bytes(const void *data, size_t len, uint64_t hash)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    return hash;
}

uint64_t inode_btime_fingerprint(int64_t seconds, uint32_t nanoseconds)
{
    uint64_t hash = hash_bytes(&seconds, sizeof(seconds), FIRST_HASH);

    return hash_bytes(&nanoseconds, sizeof(nanoseconds), hash);
}

static uint64_t read_btime(int fd)
{
    struct statx sx;

    return statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &sx) == 0 &&
                   sx.stx_mask & STATX_BTIME
               ? inode_btime_fingerprint(sx.stx_btime.tv_sec,
                                         sx.stx_btime.tv_nsec)
               : 0;
}

static void read_fingerprint(const struct ic_inode *inode, int fd,
                             struct fingerprint *ret_fingerprint)
{
    const struct inode_table_limits *limits = inode_table_limits(inode->table);
    uint64_t hash = FIRST_HASH;
    int mount;

    *ret_fingerprint = (struct fingerprint){
        .handle.handle_bytes = MAX_HANDLE_SZ
    };
    if (limits->has_handles && inode->dev == limits->dev &&
        name_to_handle_at(fd, "", &ret_fingerprint->handle, &mount,
                          AT_EMPTY_PATH) == 0) {
        ret_fingerprint->has_handle = true;
        hash = hash_bytes(&ret_fingerprint->handle.handle_type, sizeof(int),
                          hash);
        ret_fingerprint->hash = hash_bytes(ret_fingerprint->handle.f_handle,
                                           ret_fingerprint->handle.handle_bytes,
                                           hash);
    } else if (limits->has_btimes) {
        ret_fingerprint->hash = read_btime(fd);
    }
}

/* Return whether the fd, with this btime fingerprint (0: unknown), is of this
 * closed inode. With inode->lock held. */
static bool has_fingerprint(const struct ic_inode *inode, int fd,
                            uint64_t btime)
{
    struct fingerprint fingerprint;

    if (inode->has_btime_fingerprint)
        return (btime ? btime : read_btime(fd)) == inode->fingerprint;
    read_fingerprint(inode, fd, &fingerprint);
    return fingerprint.hash == inode->fingerprint;
}

static struct file_handle *copy_handle(const struct fingerprint *fingerprint)
{
    return g_memdup2(&fingerprint->handle,
                     sizeof(fingerprint->handle) +
                         fingerprint->handle.handle_bytes);
}

/* ---- closing ------------------------------------------------------------- */

/* Return whether the inode is at its last known location, as far as is known
 * without opening others. With inode->lock held. */
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
    /* Never the last: inode->parent keeps a hold. */
    ic_inode_unref(parent);
    return rc == 0 && st.st_ino == inode->ino && st.st_dev == inode->dev;
}

static bool is_reserved(const struct ic_inode *inode, int fd)
{
    const struct inode_table_limits *limits = inode_table_limits(inode->table);

    return limits->is_reserved_fd && limits->is_reserved_fd(fd);
}

/* Return whether the inode could be opened again, or may be lost. A removed
 * inode could not; but no inode of a client, whatever it did to the names, may
 * keep one of the last fds. */
static bool may_close(struct ic_inode *inode,
                      const struct fingerprint *fingerprint)
{
    const struct inode_table_limits *limits = inode_table_limits(inode->table);
    struct stat st;

    if (sys_stat_fd(inode->fd, &st) < 0)
        return false;
    if (is_reserved(inode, inode->fd))
        return true;
    if (inode_has_no_name(inode, &st))
        return false;
    return (fingerprint->has_handle &&
            limits->handles != IC_FILE_HANDLES_NEVER) ||
           is_in_place(inode);
}

static bool close_locked(struct ic_inode *inode)
{
    const struct inode_table_limits *limits = inode_table_limits(inode->table);
    struct fingerprint fingerprint;

    read_fingerprint(inode, inode->fd, &fingerprint);
    if (!may_close(inode, &fingerprint))
        return false;
    inode->fingerprint = fingerprint.hash;
    if (fingerprint.has_handle && limits->handles != IC_FILE_HANDLES_NEVER)
        inode->handle = copy_handle(&fingerprint);
    fd_close(&inode->fd);
    return true;
}

bool inode_close(struct ic_inode *inode)
{
    bool closed = false;

    pthread_mutex_lock(&inode->lock);
    /* Another thread may have taken it meanwhile. */
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
    /* Only for the call's effect: the server tracks fd numbers, and has not
     * seen this one. */
    is_reserved(inode, fd);
}

/* With inode->lock held and an fd present: take a reference. */
static void open_locked(struct ic_inode *inode)
{
    g_clear_pointer(&inode->handle, g_free);
    inode_end_lazy(inode);
    atomic_fetch_add(&inode->counts, INODE_REFERENCE);
    atomic_fetch_and(&inode->counts, ~INODE_CLOSED);
}

int inode_adopt(struct ic_inode *inode, int *inout_fd, uint64_t btime)
{
    int rc = 0;

    pthread_mutex_lock(&inode->lock);
    if (!inode_try_use(inode)) {
        if (inode->fd < 0 && !has_fingerprint(inode, *inout_fd, btime))
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

/* Stat an fd to decide whether it is the inode. *ret_btime is 0 if the btime is
 * not needed. */
static int stat_found(const struct ic_inode *inode, int fd,
                      struct stat *ret_stat, uint64_t *ret_mount,
                      uint64_t *ret_btime)
{
    struct sys_born born;
    int rc;

    *ret_btime = 0;
    /* Unlocked, so a hint: inode_adopt() queries what is missing. */
    if (!inode->has_btime_fingerprint)
        return inode_table_stat(inode->table, fd, ret_stat, ret_mount);
    rc = sys_stat_born(fd, "", &born);
    if (rc < 0)
        return rc == -EOPNOTSUPP ? -ESTALE : rc; /* the inode had a btime */
    *ret_stat = born.st;
    *ret_mount = born.mount;
    *ret_btime = inode_btime_fingerprint(born.born.tv_sec,
                                         (uint32_t)born.born.tv_nsec);
    return 0;
}

static int adopt_found(struct ic_inode *inode, int found)
{
    struct inode_table *table = inode->table;
    fd_auto int fd = found;
    uint64_t mount, btime;
    struct stat st;
    int rc = stat_found(inode, fd, &st, &mount, &btime);

    if (rc == 0 &&
        (st.st_ino != inode->ino || st.st_dev != inode->dev ||
         inode_table_is_other_mount(table, fd, mount) != inode->other_mount))
        rc = -ESTALE;
    return rc < 0 ? rc : inode_adopt(inode, &fd, btime);
}

/* Return whether the error says nothing about the file. */
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

/* Open by name first, which gives a path that Landlock and others can follow
 * upwards; the handle finds files that another process renamed. parent is in
 * use. */
static int open_by_name(struct ic_inode *inode, struct ic_inode *parent,
                        const char *name)
{
    int fd = sys_openat(parent->fd, name, O_PATH | O_NOFOLLOW, 0);
    int rc = fd < 0 ? fd : adopt_found(inode, fd), by_handle;

    if (rc == 0 || is_shortage(rc))
        return rc;
    by_handle = open_by_handle(inode);
    /* A refusal (EACCES ...) does not mean that the inode is lost. */
    return by_handle == -ESTALE && rc != -ENOENT && rc != -ENOTDIR ? rc
                                                                   : by_handle;
}

/* Return 0 and a reference; 1: its parent (a new hold) must be opened first; or
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
    /* It was about to be closed, or another thread has opened it. */
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

/* Open the chain downwards from the nearest open inode. */
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
        /* The path is lost; the handle may still work. */
        if (rc == -ESTALE && at != inode)
            return open_by_handle(inode);
        if (rc < 0 || at == inode)
            return rc;
        /* It was used just now, so it is open in the next round. */
        ic_inode_unref(at);
        g_ptr_array_set_size(chain, (int)chain->len - 1);
    }
    return -ESTALE;
}

int inode_use(struct ic_inode *inode)
{
    return inode_try_use(inode) ? 0 : open_chain(inode);
}

/* ---- names that the mutation layer removes ------------------------------- */

/* Make room below the reserve: this fd will never be closed. */
static int open_victim(struct inode_table *table, const struct ic_inode *dir,
                       const char *name)
{
    const struct inode_table_limits *limits = inode_table_limits(table);
    int fd = sys_openat(dir->fd, name, O_PATH | O_NOFOLLOW, 0);

    if (fd != -EMFILE &&
        (fd < 0 || !limits->is_reserved_fd || !limits->is_reserved_fd(fd)))
        return fd;
    fd_close(&fd);
    if (inode_table_release(table, RELEASE_FOR_VICTIM) == 0)
        return -EMFILE;
    fd = sys_openat(dir->fd, name, O_PATH | O_NOFOLLOW, 0);
    if (fd >= 0 && limits->is_reserved_fd && limits->is_reserved_fd(fd)) {
        fd_close(&fd);
        fd = -EMFILE;
    }
    return fd;
}

/* Return whether the inode has one user, which is about to remove it, and
 * removing it frees little. *ret_certain: and no other caller has moved names
 * since it was looked up. */
static bool has_one_user(struct ic_inode *inode, bool *ret_certain)
{
    bool has;

    *ret_certain = false;
    if (!inode->has_btime_fingerprint)
        return false;
    pthread_mutex_lock(&inode->lock);
    has = inode->has_btime_fingerprint && inode->looked_up &&
          !atomic_load_explicit(&inode->has_much, memory_order_relaxed);
    if (has)
        *ret_certain = inode_table_is_moving_alone(inode->table,
                                                   inode->looked_up_at);
    pthread_mutex_unlock(&inode->lock);
    return has;
}

/* Return the inode that the name leads to; a hold. */
static struct ic_inode *find_victim(struct inode_table *table,
                                    const struct ic_inode *dir,
                                    const char *name, bool *ret_has_one_user)
{
    struct ic_inode *inode = inode_table_find_at(table, dir, name);
    bool certain = false;
    struct stat st;

    *ret_has_one_user = inode && has_one_user(inode, &certain);
    if (!inode_table_is_crowded(table) || certain)
        return inode;
    ic_inode_unhold(inode);
    inode = sys_stat_name(dir->fd, name, &st) == 0
                ? inode_table_find(table, st.st_dev, st.st_ino)
                : NULL;
    *ret_has_one_user = inode && has_one_user(inode, &certain);
    return inode;
}

struct inode_victim inode_table_hold_name(struct inode_table *table,
                                          const struct ic_inode *dir,
                                          const char *name)
{
    struct inode_victim victim = { 0 };
    bool has_one_user;
    struct ic_inode *inode = find_victim(table, dir, name, &has_one_user);
    int rc;

    if (!inode || has_one_user) {
        victim.inode = inode;
        return victim;
    }
    if (inode_try_use(inode)) {
        rc = 0;
        /* If that fails, the inode may be closed nevertheless: see may_close().
         */
        if (is_reserved(inode, inode->fd))
            inode_table_release(table, RELEASE_FOR_VICTIM);
    } else {
        rc = open_victim(table, dir, name);
        if (rc >= 0)
            rc = adopt_found(inode, rc);
    }
    ic_inode_unhold(inode);
    if (rc == 0)
        victim = (struct inode_victim){ .inode = inode, .is_open = true };
    return victim;
}

void inode_victim_clear(struct inode_victim *victim)
{
    if (victim->is_open)
        ic_inode_unref(victim->inode);
    else
        ic_inode_unhold(victim->inode);
    *victim = (struct inode_victim){ 0 };
}

void inode_note_removed(struct inode_victim *victim, const struct ic_inode *dir,
                        const char *name)
{
    if (victim->inode)
        inode_clear_place(victim->inode, dir, name);
    inode_victim_clear(victim);
}
