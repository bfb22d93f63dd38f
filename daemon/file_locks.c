/* SPDX-License-Identifier: Apache-2.0
 *
 * file_locks - see file_locks.h.
 *
 * A waiter's thread blocks only in F_OFD_SETLKW or flock(). To end the wait
 * early the thread gets SIGUSR1, whose handler does nothing; repeatedly, as the
 * first one may arrive before the system call.
 */
#include "daemon/file_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "common/fd.h"
#include "daemon/lock_owner.h"

enum { SIGNAL = SIGUSR1, SIGNAL_AGAIN_NS = 2000000 };

struct waiter {
    struct file_locks *locks;
    struct lock_owner *owner; /* referenced */
    struct flock lock;
    uint64_t unique;
    pthread_t thread;
    bool done, cancelled;
    int rc; /* valid if done */
};

struct file_locks {
    struct ic *ic;
    struct parked *parked;
    pthread_mutex_t lock; /* guards the following, the owners and the waiters */
    pthread_cond_t ended; /* a waiter is done */
    GHashTable *owners;   /* lock_owner_table_new() */
    GPtrArray *waiters;   /* owned */
    unsigned session;
};

/* ---- waiting ------------------------------------------------------------- */

static void do_nothing(int number)
{
}

static void install_handler(void)
{
    struct sigaction action = { .sa_handler = do_nothing }; /* no SA_RESTART */

    sigaction(SIGNAL, &action, NULL);
}

static void *wait_for_lock(void *data)
{
    struct waiter *waiter = data;
    struct file_locks *locks = waiter->locks;
    struct parked *parked = locks->parked;
    struct flock lock = waiter->lock;
    sigset_t set;
    int rc;

    pthread_setname_np(pthread_self(), "lock-waiter");
    sigemptyset(&set);
    sigaddset(&set, SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    rc = lock_owner_set(waiter->owner, &lock, true);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_mutex_lock(&locks->lock);
    if (rc == 0)
        lock_owner_note(waiter->owner, &waiter->lock);
    waiter->rc = rc;
    waiter->done = true;
    pthread_cond_broadcast(&locks->ended);
    pthread_mutex_unlock(&locks->lock);
    parked_release(parked, 0);
    return NULL;
}

static void waiter_free(gpointer data)
{
    struct waiter *waiter = data;

    lock_owner_unref(waiter->owner);
    g_free(waiter);
}

static struct waiter *find_waiter(struct file_locks *locks, uint64_t unique)
{
    for (guint i = 0; i < locks->waiters->len; i++) {
        struct waiter *waiter = g_ptr_array_index(locks->waiters, i);

        if (waiter->unique == unique)
            return waiter;
    }
    return NULL;
}

static int start_waiter(struct file_locks *locks, struct lock_owner *owner,
                        const struct flock *lock, uint64_t unique)
{
    struct waiter *waiter;
    sigset_t set, before;
    int rc;

    if (locks->waiters->len >= FILE_LOCKS_MAX_WAITERS)
        return -ENOLCK;
    waiter = g_new0(struct waiter, 1);
    *waiter = (struct waiter){
        .locks = locks, .owner = owner, .lock = *lock, .unique = unique
    };
    owner->refs++;
    sigemptyset(&set);
    sigaddset(&set, SIGNAL);
    pthread_sigmask(SIG_BLOCK, &set, &before); /* inherited by the thread */
    rc = pthread_create(&waiter->thread, NULL, wait_for_lock, waiter);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        waiter_free(waiter);
        return -ENOLCK;
    }
    g_ptr_array_add(locks->waiters, waiter);
    return IC_PARKED;
}

/* Wait for the waiter, for a moment at most. The lock is held. */
static void wait_a_moment(struct file_locks *locks)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += SIGNAL_AGAIN_NS;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_cond_timedwait(&locks->ended, &locks->lock, &until);
}

/* End a waiter, and release the lock that it may have acquired nevertheless.
 * The lock is held, and released in the meantime. */
static void end_waiter(struct file_locks *locks, struct waiter *waiter)
{
    pthread_t thread = waiter->thread;

    waiter->cancelled = true;
    while (!waiter->done) {
        pthread_kill(thread, SIGNAL);
        wait_a_moment(locks);
    }
    if (waiter->rc == 0) {
        waiter->lock.l_type = F_UNLCK;
        lock_owner_set(waiter->owner, &waiter->lock, false);
        lock_owner_note(waiter->owner, &waiter->lock);
    }
    g_ptr_array_remove_fast(locks->waiters, waiter);
    pthread_cond_broadcast(&locks->ended);
    pthread_mutex_unlock(&locks->lock);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&locks->lock);
}

/* ---- requests ------------------------------------------------------------ */

static short host_type(uint32_t type)
{
    return type == F_RDLCK || type == F_WRLCK || type == F_UNLCK ? (short)type
                                                                 : -1;
}

/* Convert to the host's struct. The client's end is the last byte; all ones: to
 * the end of the file. */
static int to_host(const struct file_lock *lock, struct flock *ret_lock)
{
    *ret_lock = (struct flock){ .l_type = host_type(lock->type),
                                .l_whence = SEEK_SET,
                                .l_start = (off_t)lock->start };
    if (ret_lock->l_type < 0 || lock->start > INT64_MAX ||
        lock->end < lock->start)
        return -EINVAL;
    if (lock->end < INT64_MAX)
        ret_lock->l_len = (off_t)(lock->end - lock->start) + 1;
    return 0;
}

/* Return the waiter's result to the request, which is handled again. */
static int take_result(struct file_locks *locks, struct waiter *waiter)
{
    pthread_t thread = waiter->thread;
    int rc = waiter->rc;

    if (!waiter->done || waiter->cancelled)
        return IC_PARKED; /* made ready by another event */
    g_ptr_array_remove_fast(locks->waiters, waiter);
    pthread_join(thread, NULL); /* it holds no lock any more */
    return rc;
}

/* Unlock. Remove an owner that has no locks and no waiters. */
static int unset_locked(struct file_locks *locks, struct ic_inode *inode,
                        const struct file_lock *wanted, struct flock *lock)
{
    struct lock_owner *owner = lock_owner_find(locks->owners, inode,
                                               wanted->owner, wanted->flock);
    int rc = owner ? lock_owner_set(owner, lock, false) : 0;

    if (rc == 0 && owner)
        lock_owner_note(owner, lock);
    if (rc == 0 && owner && owner->refs == 1 &&
        lock_ranges_is_empty(&owner->held))
        g_hash_table_remove(locks->owners, owner);
    return rc;
}

static int set_locked(struct file_locks *locks, struct ic_inode *inode,
                      const struct file_lock *wanted, struct flock *lock,
                      uint64_t unique, bool wait)
{
    struct waiter *waiter = wait ? find_waiter(locks, unique) : NULL;
    struct lock_owner *owner = NULL;
    int rc;

    if (waiter)
        return take_result(locks, waiter);
    if (lock->l_type == F_UNLCK)
        return unset_locked(locks, inode, wanted, lock);
    rc = lock_owner_get(locks->owners, locks->ic, inode, wanted->owner,
                        wanted->flock, &owner);
    if (rc == 0)
        rc = lock_owner_set(owner, lock, false);
    if (rc == 0)
        lock_owner_note(owner, lock);
    if (rc == -EAGAIN && wait)
        rc = start_waiter(locks, owner, lock, unique);
    return rc;
}

unsigned file_locks_session(struct file_locks *locks)
{
    unsigned session;

    pthread_mutex_lock(&locks->lock);
    session = locks->session;
    pthread_mutex_unlock(&locks->lock);
    return session;
}

int file_locks_set(struct file_locks *locks, struct ic_inode *inode,
                   const struct file_lock *lock, uint64_t unique, bool wait)
{
    struct flock host;
    int rc = to_host(lock, &host);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&locks->lock);
    rc = lock->session == locks->session
             ? set_locked(locks, inode, lock, &host, unique, wait)
             : -EBADF;
    pthread_mutex_unlock(&locks->lock);
    return rc;
}

/* Test without creating an owner, as that would never be removed. A client
 * without an owner holds no lock, so any new description serves. */
static int test_locked(struct file_locks *locks, struct ic_inode *inode,
                       uint64_t id, struct flock *lock)
{
    const struct lock_owner *owner = lock_owner_find(locks->owners, inode, id,
                                                     false);
    fd_auto int own = owner ? -1 : lock_owner_open(locks->ic, inode);
    int fd = owner ? owner->fd : own;

    if (fd < 0)
        return fd;
    return fcntl(fd, F_OFD_GETLK, lock) < 0 ? -errno : 0;
}

int file_locks_test(struct file_locks *locks, struct ic_inode *inode,
                    struct file_lock *lock)
{
    struct flock host;
    int rc = to_host(lock, &host);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&locks->lock);
    rc = test_locked(locks, inode, lock->owner, &host);
    pthread_mutex_unlock(&locks->lock);
    if (rc < 0)
        return rc;
    lock->type = (uint32_t)host.l_type;
    if (host.l_type != F_UNLCK) {
        lock->start = (uint64_t)host.l_start;
        lock->end = host.l_len ? (uint64_t)(host.l_start + host.l_len - 1)
                               : INT64_MAX;
        lock->pid = host.l_pid > 0 ? (uint32_t)host.l_pid : 0;
    }
    return 0;
}

bool file_locks_has_owner(struct file_locks *locks, struct ic_inode *inode,
                          uint64_t id)
{
    bool has;

    pthread_mutex_lock(&locks->lock);
    has = lock_owner_find(locks->owners, inode, id, false);
    pthread_mutex_unlock(&locks->lock);
    return has;
}

void file_locks_drop(struct file_locks *locks, struct ic_inode *inode,
                     uint64_t id, bool flock)
{
    pthread_mutex_lock(&locks->lock);
    lock_owner_remove(locks->owners, inode, id, flock);
    pthread_mutex_unlock(&locks->lock);
}

void file_locks_abandon(struct file_locks *locks, uint64_t unique)
{
    struct waiter *waiter;

    pthread_mutex_lock(&locks->lock);
    waiter = find_waiter(locks, unique);
    if (waiter && !waiter->cancelled)
        end_waiter(locks, waiter);
    pthread_mutex_unlock(&locks->lock);
}

void file_locks_clear(struct file_locks *locks)
{
    pthread_mutex_lock(&locks->lock);
    /* Waiters end without the lock held. */
    locks->session++;
    for (guint i = locks->waiters->len; i > 0; i = locks->waiters->len) {
        struct waiter *waiter = g_ptr_array_index(locks->waiters, i - 1);

        if (waiter->cancelled) /* another thread ends it */
            pthread_cond_wait(&locks->ended, &locks->lock);
        else
            end_waiter(locks, waiter);
    }
    g_hash_table_remove_all(locks->owners);
    pthread_mutex_unlock(&locks->lock);
}

struct file_locks *file_locks_new(struct ic *ic, struct parked *parked)
{
    struct file_locks *locks = g_new0(struct file_locks, 1);

    install_handler();
    locks->ic = ic;
    locks->parked = parked;
    pthread_mutex_init(&locks->lock, NULL);
    pthread_cond_init(&locks->ended, NULL);
    locks->owners = lock_owner_table_new();
    locks->waiters = g_ptr_array_new_with_free_func(waiter_free);
    return locks;
}

void file_locks_free(struct file_locks *locks)
{
    if (!locks)
        return;
    file_locks_clear(locks);
    g_ptr_array_unref(locks->waiters);
    g_hash_table_unref(locks->owners);
    pthread_cond_destroy(&locks->ended);
    pthread_mutex_destroy(&locks->lock);
    g_free(locks);
}
