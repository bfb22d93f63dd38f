/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_owner - see lock_owner.h.
 */
#include "daemon/lock_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/proc_fd.h"
#include "daemon/fd_reserve.h"

static guint owner_hash(gconstpointer key)
{
    const struct lock_owner *owner = key;

    return g_int64_hash(&owner->ino) ^ g_int64_hash(&owner->id) ^ owner->flock;
}

static gboolean owner_equal(gconstpointer a, gconstpointer b)
{
    const struct lock_owner *x = a, *y = b;

    return x->dev == y->dev && x->ino == y->ino && x->id == y->id &&
           x->flock == y->flock;
}

void lock_owner_unref(gpointer data)
{
    struct lock_owner *owner = data;

    if (--owner->refs > 0)
        return;
    fd_close(&owner->fd);
    lock_ranges_clear(&owner->held);
    g_free(owner);
}

static struct lock_owner key_of(struct ic_inode *inode, uint64_t id, bool flock)
{
    return (struct lock_owner){ .dev = ic_inode_dev(inode),
                                .ino = ic_inode_ino(inode),
                                .id = id,
                                .flock = flock,
                                .fd = -1 };
}

/* The client's kernel has already checked that the mode of its own open file
 * permits the lock. */
int lock_owner_open(struct ic *ic, struct ic_inode *inode)
{
    struct proc_fd_path path = proc_fd_path(ic_inode_fd(inode));
    int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd, rc;

    if (!S_ISREG(ic_inode_type(inode)) && !S_ISDIR(ic_inode_type(inode)))
        return -EBADF;
    rc = fd_reserve_room(ic);
    if (rc < 0)
        return rc;
    fd = S_ISREG(ic_inode_type(inode)) ? open(path.text, flags | O_RDWR) : -1;
    if (fd < 0)
        fd = open(path.text, flags | O_RDONLY);
    if (fd < 0)
        return -errno;
    rc = fd_reserve_check(ic, fd);
    if (rc < 0)
        fd_close(&fd);
    return rc < 0 ? rc : fd;
}

GHashTable *lock_owner_table_new(void)
{
    return g_hash_table_new_full(owner_hash, owner_equal, NULL,
                                 lock_owner_unref);
}

struct lock_owner *lock_owner_find(GHashTable *owners, struct ic_inode *inode,
                                   uint64_t id, bool flock)
{
    struct lock_owner key = key_of(inode, id, flock);

    return g_hash_table_lookup(owners, &key);
}

int lock_owner_get(GHashTable *owners, struct ic *ic, struct ic_inode *inode,
                   uint64_t id, bool flock, struct lock_owner **ret_owner)
{
    struct lock_owner key = key_of(inode, id, flock);
    struct lock_owner *owner = g_hash_table_lookup(owners, &key);

    if (!owner) {
        if (g_hash_table_size(owners) >= LOCK_OWNERS_MAX)
            return -ENOLCK;
        key.fd = lock_owner_open(ic, inode);
        if (key.fd < 0)
            return key.fd;
        key.refs = 1;
        owner = g_memdup2(&key, sizeof(key));
        g_hash_table_add(owners, owner);
    }
    *ret_owner = owner;
    return 0;
}

void lock_owner_remove(GHashTable *owners, struct ic_inode *inode, uint64_t id,
                       bool flock)
{
    struct lock_owner key = key_of(inode, id, flock);

    g_hash_table_remove(owners, &key);
}

/* ---- its locks ----------------------------------------------------------- */

static int set_flock(int fd, short type, bool wait)
{
    int operation = type == F_RDLCK   ? LOCK_SH
                    : type == F_WRLCK ? LOCK_EX
                                      : LOCK_UN;
    int rc = flock(fd, operation | (wait ? 0 : LOCK_NB));

    return rc < 0 ? -errno : 0;
}

int lock_owner_set(const struct lock_owner *owner, struct flock *lock,
                   bool wait)
{
    int rc;

    if (owner->flock)
        return set_flock(owner->fd, lock->l_type, wait);
    rc = fcntl(owner->fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, lock);
    return rc < 0 ? (errno == EACCES ? -EAGAIN : -errno) : 0;
}

void lock_owner_note(struct lock_owner *owner, const struct flock *lock)
{
    uint64_t first = (uint64_t)lock->l_start;

    lock_ranges_note(&owner->held, first,
                     lock->l_len ? first + (uint64_t)lock->l_len - 1
                                 : INT64_MAX,
                     lock->l_type != F_UNLCK);
}
