/* SPDX-License-Identifier: Apache-2.0
 *
 * durable - see durable.h.
 */
#include "interceptor/engine/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/engine/core.h"
#include "interceptor/log/pack.h"
#include "interceptor/sys/sys.h"

/* A change that other captures keep overtaking syncs by itself. */
enum { MAX_TRIES = 8 };

void durable_init(struct durable *durable)
{
    pthread_mutex_init(&durable->lock, NULL);
    pthread_cond_init(&durable->changed, NULL);
}

void durable_clear(struct durable *durable)
{
    pthread_cond_destroy(&durable->changed);
    pthread_mutex_destroy(&durable->lock);
}

static bool is_on(struct ic *ic)
{
    return atomic_load_explicit(&ic->durable.power, memory_order_relaxed);
}

void durable_begin(struct ic *ic)
{
    if (is_on(ic))
        atomic_fetch_add(&ic->durable.in_flight, 1);
}

void durable_end(struct ic *ic)
{
    if (is_on(ic))
        atomic_fetch_sub(&ic->durable.in_flight, 1);
}

bool durable_is_pending(struct ic *ic)
{
    return is_on(ic) && (atomic_load(&ic->durable.in_flight) > 0 ||
                         atomic_load(&ic->durable.error) != 0);
}

/* ---- syncing ------------------------------------------------------------- */

/* The data to sync. */
struct extent {
    struct journal *journal;
    struct pack *pack;
    size_t contents;
    int64_t bytes;
    bool first, more_contents; /* since the last sync */
};

static struct extent get_extent(const struct wal *wal)
{
    return (struct extent){
        .journal = wal->step->journal,
        .pack = wal->pack,
        .contents = wal->contents ? wal->contents->len : 0,
        .bytes = capture_copied(wal),
    };
}

/* These folders have the directory entries of the step's files. */
static int sync_folders(struct ic *ic, const struct extent *extent)
{
    int rc = 0;

    if (extent->first) {
        rc = sys_fsync(ic->wal.dir);
        if (rc == 0)
            rc = undo_log_sync_folders(ic->log);
    }
    if (rc == 0 && extent->more_contents)
        rc = sys_fsync(ic->wal.blobs);
    return rc;
}

static int sync_extent(struct ic *ic, const struct extent *extent)
{
    int rc = sync_folders(ic, extent);

    if (rc == 0 && extent->pack)
        rc = pack_sync(extent->pack);
    if (rc == 0)
        rc = journal_sync(extent->journal);
    if (rc < 0) {
        log_error(LOG_UNDO, "undo log: cannot sync: %s", g_strerror(-rc));
        atomic_store(&ic->durable.error, rc);
    }
    return rc;
}

/* A newly begun step has nothing on disk yet. With lock held. */
static void follow_step(struct ic *ic)
{
    struct durable *d = &ic->durable;

    if (d->epoch == ic->wal.epoch)
        return;
    d->epoch = ic->wal.epoch;
    d->synced = 0;
    d->contents = 0;
    atomic_store(&d->error, 0);
}

static void note_synced(struct durable *d, const struct extent *extent)
{
    d->synced = MAX(d->synced, extent->bytes);
    d->contents = extent->contents;
}

/* With lock held: determine which parts are new. */
static void compare_extent(const struct durable *d, struct extent *extent)
{
    extent->first = d->synced == 0;
    extent->more_contents = extent->contents != d->contents;
}

/* As the leader, sync everything written so far. With lock held, which is
 * released meanwhile. */
static void lead(struct ic *ic)
{
    struct durable *d = &ic->durable;
    struct extent extent;
    int rc;

    d->syncing = true;
    pthread_mutex_unlock(&d->lock);
    pthread_mutex_lock(&ic->names);
    extent = get_extent(&ic->wal);
    pthread_mutex_unlock(&ic->names);
    pthread_mutex_lock(&d->lock);
    compare_extent(d, &extent);
    pthread_mutex_unlock(&d->lock);
    rc = sync_extent(ic, &extent);
    pthread_mutex_lock(&d->lock);
    if (rc == 0)
        note_synced(d, &extent);
    d->syncing = false;
    pthread_cond_broadcast(&d->changed);
}

int durable_wait(struct ic *ic)
{
    struct durable *d = &ic->durable;
    struct extent wanted = { 0 };
    int rc;

    if (!is_on(ic))
        return 0;
    pthread_mutex_lock(&ic->names);
    if (ic->wal.step && ic->wal.step->journal)
        wanted = get_extent(&ic->wal);
    pthread_mutex_unlock(&ic->names);
    if (!wanted.journal)
        return 0;
    pthread_mutex_lock(&d->lock);
    follow_step(ic);
    while (d->synced < wanted.bytes && atomic_load(&d->error) == 0) {
        if (d->syncing)
            pthread_cond_wait(&d->changed, &d->lock);
        else
            lead(ic);
    }
    rc = atomic_load(&d->error);
    pthread_mutex_unlock(&d->lock);
    return rc;
}

/* ---- changes of names ---------------------------------------------------- */

/* With names held, so that no other change writes records. A running leader
 * takes names, too, but only before it syncs. */
static int sync_now(struct ic *ic)
{
    struct durable *d = &ic->durable;
    struct extent extent = get_extent(&ic->wal);
    int rc;

    pthread_mutex_lock(&d->lock);
    follow_step(ic);
    rc = atomic_load(&d->error);
    if (rc == 0 && d->synced < extent.bytes) {
        compare_extent(d, &extent);
        rc = sync_extent(ic, &extent);
        if (rc == 0)
            note_synced(d, &extent);
    }
    pthread_mutex_unlock(&d->lock);
    return rc;
}

int durable_check_now(struct ic *ic)
{
    return is_on(ic) && core_captures(ic) && ic->wal.step ? sync_now(ic) : 0;
}

int durable_check(struct ic *ic)
{
    static _Thread_local unsigned tries;
    struct durable *d = &ic->durable;
    bool done;
    int rc;

    if (!is_on(ic) || !core_captures(ic) || !ic->wal.step)
        return 0;
    pthread_mutex_lock(&d->lock);
    follow_step(ic);
    rc = atomic_load(&d->error);
    done = d->synced >= capture_copied(&ic->wal);
    pthread_mutex_unlock(&d->lock);
    if (rc < 0 || done) {
        tries = 0;
        return rc;
    }
    if (++tries < MAX_TRIES)
        return -ERESTART;
    tries = 0;
    return sync_now(ic);
}

void durable_forget(struct ic *ic)
{
    pthread_mutex_lock(&ic->durable.lock);
    ic->durable.epoch = 0;
    pthread_mutex_unlock(&ic->durable.lock);
}

bool durable_again(struct ic *ic, ssize_t rc)
{
    if (rc != -ERESTART)
        return false;
    pthread_rwlock_rdlock(&ic->gate);
    durable_wait(ic); /* the next try returns its error */
    pthread_rwlock_unlock(&ic->gate);
    return true;
}

/* ---- steps --------------------------------------------------------------- */

int durable_sync_share(struct ic *ic)
{
    fd_auto int fd = -1;

    if (!is_on(ic))
        return 0;
    fd = sys_openat(ic->root->fd, ".", O_RDONLY | O_DIRECTORY, 0);
    return fd < 0 ? fd : sys_syncfs(fd);
}

int durable_sync_step(struct ic *ic)
{
    struct extent extent;

    if (!is_on(ic))
        return 0;
    extent = get_extent(&ic->wal);
    pthread_mutex_lock(&ic->durable.lock);
    follow_step(ic);
    compare_extent(&ic->durable, &extent);
    pthread_mutex_unlock(&ic->durable.lock);
    return sync_extent(ic, &extent);
}
