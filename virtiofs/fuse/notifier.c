/* SPDX-License-Identifier: Apache-2.0
 *
 * notifier - see notifier.h.
 *
 * A reply that the kernel had received, but not processed, when it got a
 * notification may still enter the cache after it: neither a lookup that
 * revalidates a name, nor the first of an inode, is ordered with notifications.
 * So each is repeated after REPEAT_MS, in its weakest form. Pages need no
 * repetition: the kernel locks those that it reads.
 */
#include "virtiofs/fuse/notifier.h"

#include <errno.h>
#include <glib.h>
#include <stdatomic.h>
#include <string.h>

#include "common/log.h"
#include "virtiofs/fuse/fuse_sweep.h"

/* Items of a batch without a waiting caller; beyond, the kernel drops all that
 * is known to be in its cache. */
#define MAX_UNAWAITED 65536

#define REPEAT_MS 1000

/* A sweep of very many inodes takes this part of the time at most. */
#define SWEEP_PART 200

struct batch {
    GHashTable *items; /* a set of struct notifier_item (owned) */
    GPtrArray *pages;  /* inodes, for ic_stale_pages_end() */
    bool all;          /* also everything that the kernel is known to have */
    bool awaited;
    uint64_t number;
    gint64 repeat_at; /* g_get_monotonic_time() */
};

struct notifier {
    const struct notifier_way *way;
    void *opaque; /* of the way */
    struct fuse_server *server;
    GThread *thread;
    GMutex lock; /* guards the following members */
    GCond more;  /* a batch was queued, or stop is set */
    GCond sent;  /* last_sent has grown, or stop is set */
    GQueue batches;
    GQueue repeats; /* batches that were sent once */
    /* Also read without the lock. */
    _Atomic uint64_t last_number, last_sent;
    bool paused, stop;
    /* Of the notifier's thread. */
    struct fuse_sweep sweep;
    gint64 sweep_us; /* that this sweep has taken */
    gint64 sweep_at; /* g_get_monotonic_time() of its start */
};

/* ---- items --------------------------------------------------------------- */

static guint hash_item(gconstpointer key)
{
    const struct notifier_item *item = key;
    uint64_t ids = item->dir * 31 + item->inode;

    return g_int64_hash(&ids) ^ (item->name ? g_str_hash(item->name) : 0);
}

static gboolean equal_items(gconstpointer a, gconstpointer b)
{
    const struct notifier_item *x = a, *y = b;

    return x->dir == y->dir && x->inode == y->inode &&
           x->removed == y->removed && g_strcmp0(x->name, y->name) == 0;
}

static void free_item(gpointer data)
{
    struct notifier_item *item = data;

    g_free(item->name);
    g_free(item);
}

static void add_item(struct batch *batch, const struct ic_stale *stale)
{
    struct notifier_item *item = g_new(struct notifier_item, 1);

    *item = (struct notifier_item){ stale->dir, stale->inode, stale->removed,
                                    g_strdup(stale->name) };
    g_hash_table_add(batch->items, item);
}

static void end_pages(gpointer data)
{
    ic_stale_pages_end(data);
}

static struct batch *new_batch(void)
{
    struct batch *batch = g_new0(struct batch, 1);

    batch->items = g_hash_table_new_full(hash_item, equal_items, free_item,
                                         NULL);
    batch->pages = g_ptr_array_new_with_free_func(end_pages);
    return batch;
}

static void free_batch(gpointer data)
{
    struct batch *batch = data;

    g_hash_table_unref(batch->items);
    g_ptr_array_unref(batch->pages);
    g_free(batch);
}

/* ---- sending ------------------------------------------------------------- */

/* The kernel writes pages that were changed when it drops them. What it writes
 * before ic_stale_pages_end() does not reach the file. If a process has changed
 * a page again meanwhile, that is such a page, and must be dropped, too. */
static void drop_old_pages(struct notifier *notifier, GPtrArray *pages)
{
    while (pages->len > 0) {
        struct ic_inode *inode = g_ptr_array_index(pages, pages->len - 1);
        uint64_t tag = ic_inode_tag(inode);

        if (tag != 0)
            notifier->way->drop_pages(tag, notifier->opaque);
        g_ptr_array_set_size(pages, (int)pages->len - 1);
        if (tag != 0)
            notifier->way->drop_pages(tag, notifier->opaque);
    }
}

static bool is_stopped(struct notifier *notifier)
{
    bool stop;

    g_mutex_lock(&notifier->lock);
    stop = notifier->stop;
    g_mutex_unlock(&notifier->lock);
    return stop;
}

static void collect_known(const struct ic_stale *known, void *opaque)
{
    add_item(opaque, known);
}

static void notify_batch(struct notifier *notifier, struct batch *batch,
                         bool again)
{
    const struct notifier_way *way = notifier->way;
    GHashTableIter iter;
    gpointer key;

    drop_old_pages(notifier, batch->pages);
    if (way->begin)
        way->begin(batch->all ? SIZE_MAX : g_hash_table_size(batch->items),
                   notifier->opaque);
    if (batch->all && !again)
        fuse_server_each_known(notifier->server, collect_known, batch);
    g_hash_table_iter_init(&iter, batch->items);
    while (!is_stopped(notifier) && g_hash_table_iter_next(&iter, &key, NULL))
        way->item(key, again, notifier->opaque);
    if (way->end)
        way->end(notifier->opaque);
}

/* Queue a batch (taken) for the repetition, if any. The lock is held. */
static void repeat_later(struct notifier *notifier, struct batch *batch)
{
    if (!notifier->way->repeats || g_hash_table_size(batch->items) == 0) {
        free_batch(batch);
        return;
    }
    batch->repeat_at = g_get_monotonic_time() +
                       REPEAT_MS * G_TIME_SPAN_MILLISECOND;
    g_queue_push_tail(&notifier->repeats, batch);
}

/* Send a batch for the first time. The lock is held, but not meanwhile. */
static void send_first(struct notifier *notifier)
{
    struct batch *batch = g_queue_pop_head(&notifier->batches);

    g_mutex_unlock(&notifier->lock);
    notify_batch(notifier, batch, false);
    g_mutex_lock(&notifier->lock);
    notifier->last_sent = batch->number;
    g_cond_broadcast(&notifier->sent);
    repeat_later(notifier, batch);
}

/* The same for a batch that is due again. */
static void send_again(struct notifier *notifier)
{
    struct batch *batch = g_queue_pop_head(&notifier->repeats);

    g_mutex_unlock(&notifier->lock);
    notify_batch(notifier, batch, true);
    free_batch(batch);
    g_mutex_lock(&notifier->lock);
}

/* Wait for something to send, or to look at. The lock is held. */
static void wait_more(struct notifier *notifier)
{
    const struct batch *next = g_queue_peek_head(&notifier->repeats);

    g_cond_wait_until(&notifier->more, &notifier->lock,
                      next ? MIN(next->repeat_at, notifier->sweep_at)
                           : notifier->sweep_at);
}

static bool is_due(struct notifier *notifier)
{
    const struct batch *next = g_queue_peek_head(&notifier->repeats);

    return next && next->repeat_at <= g_get_monotonic_time();
}

/* Do the next part of the sweep. What it finds has no number: no caller waits
 * for it, and no change by the client depends on it. The lock is held, but not
 * meanwhile. */
static void sweep_some(struct notifier *notifier)
{
    struct batch *batch = new_batch();
    gint64 start = g_get_monotonic_time();
    bool more;

    g_mutex_unlock(&notifier->lock);
    more = fuse_sweep_some(notifier->server, &notifier->sweep, collect_known,
                           batch);
    notifier->sweep_us += g_get_monotonic_time() - start;
    if (g_hash_table_size(batch->items) > 0)
        notify_batch(notifier, batch, false);
    g_mutex_lock(&notifier->lock);
    repeat_later(notifier, batch);
    if (more)
        return;
    notifier->sweep_at += MAX(FUSE_SWEEP_S * G_TIME_SPAN_SECOND,
                              notifier->sweep_us * SWEEP_PART);
    notifier->sweep_at = MAX(notifier->sweep_at, g_get_monotonic_time());
    notifier->sweep_us = 0;
    notifier->sweep = (struct fuse_sweep){ 0 };
}

static gpointer run_thread(gpointer data)
{
    struct notifier *notifier = data;

    g_mutex_lock(&notifier->lock);
    notifier->sweep_at = g_get_monotonic_time() +
                         FUSE_SWEEP_S * G_TIME_SPAN_SECOND;
    while (!notifier->stop) {
        if (g_get_monotonic_time() >= notifier->sweep_at)
            sweep_some(notifier);
        if (notifier->stop)
            break;
        if (!g_queue_is_empty(&notifier->batches))
            send_first(notifier);
        else if (is_due(notifier))
            send_again(notifier);
        else
            wait_more(notifier);
    }
    g_mutex_unlock(&notifier->lock);
    return NULL;
}

/* ---- batches ------------------------------------------------------------ */

/* Return a batch to add to. The lock is held. */
static struct batch *find_batch(struct notifier *notifier, bool wait)
{
    struct batch *batch = g_queue_peek_tail(&notifier->batches);

    if (batch && !batch->awaited && !wait)
        return batch;
    batch = new_batch();
    batch->awaited = wait;
    batch->number = ++notifier->last_number;
    g_queue_push_tail(&notifier->batches, batch);
    return batch;
}

/* The kernel writes the changed pages of an inode when it drops them. */
static void add_mappable(const struct ic_stale *known, void *opaque)
{
    if (known->inode != 0)
        add_item(opaque, known);
}

static void add_stale(struct notifier *notifier, struct batch *batch,
                      const struct ic_stale *stale)
{
    if (stale->pages)
        g_ptr_array_add(batch->pages, stale->pages);
    if (stale->dirty)
        fuse_server_each_mappable(notifier->server, add_mappable, batch);
    else if (stale->all || (!batch->awaited &&
                            g_hash_table_size(batch->items) >= MAX_UNAWAITED))
        batch->all = true;
    else
        add_item(batch, stale);
}

static void note_mappable(const struct ic_stale *known, void *opaque)
{
    *(bool *)opaque = true;
}

static bool can_be_dirty(const struct notifier *notifier)
{
    bool found = false;

    fuse_server_each_mappable(notifier->server, note_mappable, &found);
    return found;
}

/* Wait until this batch was notified. The lock is held. */
static void wait_sent(struct notifier *notifier, uint64_t number)
{
    gint64 until = g_get_monotonic_time() +
                   NOTIFIER_PATIENCE_MS * G_TIME_SPAN_MILLISECOND;

    while (!notifier->stop && !notifier->paused &&
           notifier->last_sent < number) {
        if (g_cond_wait_until(&notifier->sent, &notifier->lock, until))
            continue;
        log_warn(LOG_FS_BACKEND,
                 "the client has not accepted an undo's changes yet, for "
                 "example because a request on the same folder is still "
                 "waiting; programs may see the old state until then");
        return;
    }
}

void notifier_tell(const struct ic_stale *list, size_t n, bool wait,
                   void *opaque)
{
    struct notifier *notifier = opaque;
    struct batch *batch;
    uint64_t number;

    if (n == 1 && list->dirty && !can_be_dirty(notifier))
        return;
    g_mutex_lock(&notifier->lock);
    if (n > 0) {
        batch = find_batch(notifier, wait);
        for (size_t i = 0; i < n; i++)
            add_stale(notifier, batch, &list[i]);
        g_cond_signal(&notifier->more);
    }
    number = notifier->last_number;
    if (wait)
        wait_sent(notifier, number);
    g_mutex_unlock(&notifier->lock);
}

void notifier_pause(struct notifier *notifier, bool paused)
{
    g_mutex_lock(&notifier->lock);
    notifier->paused = paused;
    g_cond_broadcast(&notifier->sent);
    g_mutex_unlock(&notifier->lock);
}

bool notifier_is_busy(const struct notifier *notifier)
{
    return atomic_load(&notifier->last_sent) !=
           atomic_load(&notifier->last_number);
}

/* ---- life ---------------------------------------------------------------- */

struct notifier *notifier_new(const struct notifier_way *way, void *opaque,
                              struct fuse_server *server, int *ret_rc)
{
    struct notifier *notifier = g_new0(struct notifier, 1);

    notifier->way = way;
    notifier->opaque = opaque;
    notifier->server = server;
    g_mutex_init(&notifier->lock);
    g_cond_init(&notifier->more);
    g_cond_init(&notifier->sent);
    g_queue_init(&notifier->batches);
    g_queue_init(&notifier->repeats);
    notifier->thread = g_thread_try_new("fuse-notifier", run_thread, notifier,
                                        NULL);
    if (notifier->thread)
        return notifier;
    *ret_rc = -EAGAIN;
    notifier_free(notifier);
    return NULL;
}

void notifier_stop(struct notifier *notifier)
{
    g_mutex_lock(&notifier->lock);
    notifier->stop = true;
    g_cond_broadcast(&notifier->more);
    g_cond_broadcast(&notifier->sent);
    g_mutex_unlock(&notifier->lock);
    if (notifier->way->stop)
        notifier->way->stop(notifier->opaque);
    g_thread_join(g_steal_pointer(&notifier->thread));
}

void notifier_free(struct notifier *notifier)
{
    if (!notifier)
        return;
    g_queue_clear_full(&notifier->batches, free_batch);
    g_queue_clear_full(&notifier->repeats, free_batch);
    g_cond_clear(&notifier->more);
    g_cond_clear(&notifier->sent);
    g_mutex_clear(&notifier->lock);
    g_free(notifier);
}
