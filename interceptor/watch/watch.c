/* SPDX-License-Identifier: Apache-2.0
 *
 * watch - see watch.h and watch_parts.h: the thread, and edits.
 *
 * The thread sleeps briefly after each look at the queue, so that the kernel
 * coalesces repeated events and the client's own changes do not wake it one by
 * one.
 */
#include "interceptor/watch/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/barriers.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/thread.h"
#include "interceptor/watch/watch_parts.h"

enum {
    PAUSE_MS = 20,
    MERGE_MS = 1000,
    SCAN_DIRS = 64,        /* between two looks at the queue */
    LONG_SCAN_MS = 200,    /* while watch_sync() waits for it */
    MAX_TOUCHED = 1 << 16, /* beyond, the client drops all that it is known to
                            * have cached */

    /* Look at the queue for so long after the last event: then complete() has
     * a time later than that of each inode that was new to the client when it
     * had just changed (inode_table_note_young()). */
    SETTLE_MS = 4000,
};

/* ---- edits --------------------------------------------------------------- */

static struct ic_barrier *pending_barrier(struct watch *watch, pid_t pid)
{
    struct ic_barrier *barrier = watch->pending;

    if (!barrier) {
        barrier = watch->pending = barrier_new(g_get_real_time(), true);
        barrier->pid = pid;
        barrier->process = watch->host.process_name(pid, watch->host.opaque);
        watch->pending_ms = clock_ms();
    } else if (barrier->pid != pid) { /* several processes */
        barrier->pid = 0;
        g_clear_pointer(&barrier->process, g_free);
    }
    return barrier;
}

/* Takes path. */
static void add_touched(struct watch *watch, char *path)
{
    g_hash_table_add(watch->touched, path);
    if (g_hash_table_size(watch->touched) <= MAX_TOUCHED)
        return;
    g_hash_table_remove_all(watch->touched);
    watch->lost = true;
}

void watch_note(struct watch *watch, const struct watch_dir *dir,
                const char *name, pid_t pid)
{
    g_autofree char *path = watch_dir_path(dir, name);

    if (!path)
        return;
    barrier_add_path(pending_barrier(watch, pid), path);
    add_touched(watch, g_steal_pointer(&path));
}

void watch_touch(struct watch *watch, const struct watch_dir *dir,
                 const char *name)
{
    char *path = watch_dir_path(dir, name);

    if (path)
        add_touched(watch, path);
}

void watch_lose_locked(struct watch *watch)
{
    if (!watch->overflowed)
        events_warn(watch->host.events,
                    "%s: too many changes at once to watch; some outside edits "
                    "may be unknown",
                    watch->host.share);
    watch->overflowed = true;
    watch->lost = true;
    pending_barrier(watch, 0)->more++;
    watch_scan_root(watch);
}

/* ---- barriers ------------------------------------------------------------ */

/* Return the barrier to note now (new), or NULL. */
static struct ic_barrier *take_pending(struct watch *watch, bool all)
{
    if (!watch->pending || (!all && clock_ms() - watch->pending_ms < MERGE_MS))
        return NULL;
    watch->overflowed = false;
    return g_steal_pointer(&watch->pending);
}

/* ---- scanning ------------------------------------------------------------ */

/* Watch all new directories, if they are of usual number. */
static void scan_long(struct watch *watch)
{
    int64_t until = clock_ms() + LONG_SCAN_MS;

    while (watch->unread->len > 0 && clock_ms() < until)
        watch_scan(watch, SCAN_DIRS);
}

/* ---- noting -------------------------------------------------------------- */

/* With the lock held: return the paths to report to the client, new. */
static GPtrArray *take_touched(struct watch *watch)
{
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
    GHashTableIter iter;
    gpointer path;

    g_hash_table_iter_init(&iter, watch->touched);
    while (g_hash_table_iter_next(&iter, &path, NULL)) {
        g_hash_table_iter_steal(&iter);
        g_ptr_array_add(paths, path);
    }
    return paths;
}

/* With the lock held, after the queue was processed. */
static bool is_complete(const struct watch *watch)
{
    return watch->source->is_complete && !watch->full &&
           watch->unread->len == 0;
}

/* The result of a look at the queue. */
struct found {
    GPtrArray *touched;
    struct ic_barrier *barrier; /* or NULL */
    bool lost;
    int64_t since_ms; /* for complete() */
};

static struct found look(struct watch *watch, bool all)
{
    int64_t now = clock_ms();
    struct found found;

    pthread_mutex_lock(&watch->lock);
    watch->source->drain(watch);
    watch_retry(watch);
    if (all)
        scan_long(watch);
    found = (struct found){
        .touched = take_touched(watch),
        .barrier = take_pending(watch, all),
        .lost = watch->lost,
        .since_ms = is_complete(watch) ? now : 0,
    };
    watch->lost = false;
    pthread_mutex_unlock(&watch->lock);
    return found;
}

static void flush(struct watch *watch, bool all, bool wait)
{
    const struct watch_host *host = &watch->host;
    struct found found;

    pthread_mutex_lock(&watch->reporting);
    found = look(watch, all);
    /* If events were lost, entries must not be cached for long before the
     * client has dropped those that it has. */
    if (found.lost || found.since_ms == 0)
        host->complete(0, host->opaque);
    if (found.lost)
        host->touched(NULL, wait, host->opaque);
    else if (found.touched->len > 0 || wait)
        host->touched(found.touched, wait, host->opaque);
    if (found.since_ms != 0)
        host->complete(found.since_ms, host->opaque);
    pthread_mutex_unlock(&watch->reporting);
    g_ptr_array_unref(found.touched);
    if (found.barrier)
        host->edited(found.barrier, host->opaque);
}

void watch_sync(struct watch *watch)
{
    if (watch)
        flush(watch, true, false);
}

void watch_sync_client(struct watch *watch)
{
    if (watch)
        flush(watch, true, true);
}

bool watch_has_pending(struct watch *watch, const char *path)
{
    bool found;

    if (!watch)
        return false;
    pthread_mutex_lock(&watch->lock);
    found = watch->pending && barrier_has_path(watch->pending, path);
    pthread_mutex_unlock(&watch->lock);
    return found;
}

void watch_lose(struct watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch_lose_locked(watch);
    pthread_mutex_unlock(&watch->lock);
}

/* ---- the thread ---------------------------------------------------------- */

static bool wait_stop(struct watch *watch, int timeout_ms)
{
    struct pollfd fd = { watch->stop_fd, POLLIN, 0 };

    return poll(&fd, 1, timeout_ms) > 0;
}

/* Wait for an event, or until the pending barrier must be noted. False: stop.
 */
static bool wait_event(struct watch *watch)
{
    struct pollfd fds[] = {
        { watch->stop_fd, POLLIN, 0 },
        { watch->fd, POLLIN, 0 },
    };
    bool busy, again;

    pthread_mutex_lock(&watch->lock);
    busy = watch->unread->len > 0;
    again = watch->pending || clock_ms() - watch->event_ms < SETTLE_MS;
    pthread_mutex_unlock(&watch->lock);
    if (!busy && poll(fds, G_N_ELEMENTS(fds), again ? MERGE_MS : -1) > 0 &&
        fds[1].revents != 0)
        watch->event_ms = clock_ms();
    return !wait_stop(watch, busy ? 0 : PAUSE_MS);
}

static void *run_thread(void *data)
{
    struct watch *watch = data;

    do {
        pthread_mutex_lock(&watch->lock);
        watch_scan(watch, SCAN_DIRS);
        pthread_mutex_unlock(&watch->lock);
        flush(watch, false, false);
    } while (wait_event(watch));
    return NULL;
}

/* ---- life ---------------------------------------------------------------- */

static bool open_source(struct watch *watch)
{
    watch->empty_ms = watch->event_ms = clock_ms();
    watch->fd = watch->source->open(&watch->host);
    if (watch->fd >= 0 && watch_scan_root(watch))
        return true;
    log_debug(LOG_FILE_WATCHER, "%s cannot be used for %s", watch->source->name,
              watch->host.share);
    return false;
}

struct watch *watch_new_from(const struct watch_host *host,
                             const struct watch_source *source)
{
    struct watch *watch = g_new0(struct watch, 1);

    watch->host = *host;
    watch->source = source;
    watch->fd = -1;
    watch->own_pid = getpid();
    watch->dirs = watch_dirs_new();
    watch->unread = g_ptr_array_new();
    watch->missed = g_ptr_array_new();
    watch->touched = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                           NULL);
    pthread_mutex_init(&watch->reporting, NULL);
    pthread_mutex_init(&watch->lock, NULL);
    watch->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (watch->stop_fd >= 0 && open_source(watch)) {
        scan_long(watch);
        watch->runs = thread_start(&watch->thread, "undo-watch", run_thread,
                                   watch) == 0;
    }
    if (watch->runs)
        return watch;
    watch_free(watch);
    return NULL;
}

struct watch *watch_new(const struct watch_host *host)
{
    struct watch *watch = watch_new_from(host, &watch_fanotify);

    if (!watch)
        watch = watch_new_from(host, &watch_inotify);
    if (!watch)
        events_warn(host->events,
                    "%s: cannot watch for outside edits; they are noticed only "
                    "when a step that touched the same files is undone",
                    host->share);
    return watch;
}

static void drop_all(GPtrArray *dirs)
{
    for (guint i = 0; i < dirs->len; i++)
        watch_dir_unref(g_ptr_array_index(dirs, i));
    g_ptr_array_unref(dirs);
}

void watch_free(struct watch *watch)
{
    if (!watch)
        return;
    if (watch->runs) {
        eventfd_write(watch->stop_fd, 1);
        pthread_join(watch->thread, NULL);
        flush(watch, true, false);
    }
    drop_all(watch->unread);
    drop_all(watch->missed);
    g_hash_table_unref(watch->dirs);
    g_hash_table_unref(watch->touched);
    ic_barrier_free(watch->pending);
    fd_close(&watch->fd);
    fd_close(&watch->stop_fd);
    pthread_mutex_destroy(&watch->lock);
    pthread_mutex_destroy(&watch->reporting);
    g_free(watch);
}
