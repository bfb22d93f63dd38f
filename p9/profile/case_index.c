/* SPDX-License-Identifier: Apache-2.0
 *
 * case_index - see case_index.h.
 */
#include "p9/profile/case_index.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/proc_fd.h"
#include "daemon/dir_stream.h"
#include "p9/profile/win_names.h"

#define WATCHED                                                                \
    (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR)

/* Changed names to track in a directory without lookups; beyond that, the
 * directory is read again. */
#define MAX_DOUBTS 4096u

struct key {
    dev_t dev;
    ino_t ino;
};

/* A directory. Its names: folded -> GPtrArray of exact names, usually one. */
struct folder {
    struct key key;
    int watch; /* -1: none */
    GHashTable *names;
    GHashTable *doubts; /* a set of removed names, which may exist again */
    size_t count;
    GList link; /* in index->recent; .data is this struct */
};

struct case_index {
    pthread_mutex_t lock; /* guards the following members */
    int queue;            /* inotify; -1: none */
    GHashTable *folders;  /* owned, by key */
    GHashTable *watches;  /* borrowed, by watch */
    GQueue recent;        /* most recently used first */
    size_t names;         /* in all cached directories */
    bool warned_watch, warned_case;
};

/* ---- folders ------------------------------------------------------------- */

static guint key_hash(gconstpointer key)
{
    const struct key *k = key;

    return g_int64_hash(&(gint64){ (gint64)(k->ino * 31 + k->dev) });
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
    const struct key *x = a, *y = b;

    return x->ino == y->ino && x->dev == y->dev;
}

static struct folder *folder_new(const struct key *key)
{
    struct folder *folder = g_new0(struct folder, 1);

    folder->key = *key;
    folder->watch = -1;
    folder->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                          (GDestroyNotify)g_ptr_array_unref);
    folder->doubts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                           NULL);
    folder->link.data = folder;
    return folder;
}

static void folder_free(struct folder *folder)
{
    g_hash_table_unref(folder->names);
    g_hash_table_unref(folder->doubts);
    g_free(folder);
}

/* Add a name. Return true if it is new and differs from another one only in
 * case. */
static bool add_name(struct folder *folder, const char *name)
{
    g_autofree char *folded = win_name_fold(name);
    GPtrArray *exact = g_hash_table_lookup(folder->names, folded);

    if (!exact) {
        exact = g_ptr_array_new_full(1, g_free);
        g_hash_table_insert(folder->names, g_steal_pointer(&folded), exact);
    } else if (g_ptr_array_find_with_equal_func(exact, name, g_str_equal,
                                                NULL)) {
        return false;
    }
    g_ptr_array_add(exact, g_strdup(name));
    folder->count++;
    return exact->len > 1;
}

static void remove_name(struct folder *folder, const char *name)
{
    g_autofree char *folded = win_name_fold(name);
    GPtrArray *exact = g_hash_table_lookup(folder->names, folded);
    guint at;

    if (!exact ||
        !g_ptr_array_find_with_equal_func(exact, name, g_str_equal, &at))
        return;
    g_ptr_array_remove_index_fast(exact, at);
    folder->count--;
    if (exact->len == 0)
        g_hash_table_remove(folder->names, folded);
}

/* Drop a directory whose watch is gone or no longer needed. */
static void forget(struct case_index *index, struct folder *folder)
{
    g_queue_unlink(&index->recent, &folder->link);
    g_hash_table_remove(index->watches, GINT_TO_POINTER(folder->watch));
    index->names -= folder->count;
    g_hash_table_remove(index->folders, &folder->key);
}

static void unwatch(struct case_index *index, struct folder *folder)
{
    inotify_rm_watch(index->queue, folder->watch);
    forget(index, folder);
}

static void forget_all(struct case_index *index)
{
    while (index->recent.tail)
        unwatch(index, index->recent.tail->data);
}

static void make_room(struct case_index *index)
{
    while (index->recent.length > CASE_INDEX_MAX_DIRS ||
           (index->names > CASE_INDEX_MAX_NAMES && index->recent.tail))
        unwatch(index, index->recent.tail->data);
}

/* ---- changes ------------------------------------------------------------- */

static void take_event(struct case_index *index,
                       const struct inotify_event *event)
{
    struct folder *folder = g_hash_table_lookup(index->watches,
                                                GINT_TO_POINTER(event->wd));

    if (event->mask & IN_Q_OVERFLOW)
        forget_all(index);
    if (!folder || (event->mask & IN_Q_OVERFLOW))
        return;
    index->names -= folder->count;
    if (event->len > 0 && (event->mask & (IN_CREATE | IN_MOVED_TO)))
        add_name(folder, event->name);
    if (event->len > 0 && (event->mask & (IN_DELETE | IN_MOVED_FROM)))
        g_hash_table_add(folder->doubts, g_strdup(event->name));
    index->names += folder->count;
    if (event->mask & IN_IGNORED) /* the directory itself is gone */
        forget(index, folder);
    else if (g_hash_table_size(folder->doubts) > MAX_DOUBTS)
        unwatch(index, folder);
}

/* Look up the names that events mention. When a directory is moved over
 * another, the removal is reported after the addition, and in an exchange each
 * name is removed and added: so events tell which names to check, not their
 * state. */
static void settle(struct case_index *index, struct folder *folder,
                   struct ic_inode *dir)
{
    GHashTableIter iter;
    gpointer name;
    struct stat st;

    index->names -= folder->count;
    g_hash_table_iter_init(&iter, folder->doubts);
    while (g_hash_table_iter_next(&iter, &name, NULL)) {
        if (fstatat(ic_inode_fd(dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
            errno == ENOENT)
            remove_name(folder, name);
        g_hash_table_iter_remove(&iter);
    }
    index->names += folder->count;
}

static void catch_up(struct case_index *index)
{
    char events[16384]
        __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n;

    while (index->queue >= 0 &&
           (n = read(index->queue, events, sizeof(events))) > 0) {
        for (const char *p = events; p < events + n;) {
            const struct inotify_event *event = (const void *)p;

            p += sizeof(*event) + event->len;
            take_event(index, event);
        }
    }
}

/* ---- reading a folder ---------------------------------------------------- */

static void warn_once(bool *warned, const char *text)
{
    if (!*warned)
        log_warn(LOG_FS_BACKEND, "%s", text);
    *warned = true;
}

static int read_names(struct case_index *index, struct folder *folder,
                      struct ic_inode *dir)
{
    fd_auto int fd = openat(ic_inode_fd(dir), ".",
                            O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dir_entry *entry;
    struct dir_stream *stream;
    bool same = false;
    int r;

    if (fd < 0)
        return -errno;
    stream = dir_stream_new(fd);
    while ((r = dir_stream_peek(stream, &entry)) > 0) {
        if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
            same |= add_name(folder, entry->name);
        dir_stream_advance(stream);
    }
    dir_stream_free(stream);
    if (same)
        warn_once(&index->warned_case,
                  "folder has names that differ only in case; Windows would "
                  "treat them as one");
    return r;
}

/* Watch before reading, so that no change is missed. */
static void watch(struct case_index *index, struct folder *folder,
                  struct ic_inode *dir)
{
    struct proc_fd_path path = proc_fd_path(ic_inode_fd(dir));

    if (index->queue >= 0)
        folder->watch = inotify_add_watch(index->queue, path.text, WATCHED);
    if (folder->watch < 0)
        warn_once(&index->warned_watch,
                  "cannot watch a folder: its names are read again for each "
                  "new name; raise fs.inotify.max_user_watches");
}

static void keep(struct case_index *index, struct folder *folder)
{
    g_hash_table_insert(index->folders, &folder->key, folder);
    g_hash_table_insert(index->watches, GINT_TO_POINTER(folder->watch), folder);
    g_queue_push_head_link(&index->recent, &folder->link);
    index->names += folder->count;
}

/* Read a directory. *ret_kept: the index owns it; else the caller does. */
static int add_folder(struct case_index *index, struct ic_inode *dir,
                      const struct key *key, struct folder **ret_folder,
                      bool *ret_kept)
{
    struct folder *folder = folder_new(key);
    int r;

    watch(index, folder, dir);
    r = read_names(index, folder, dir);
    *ret_kept = r == 0 && folder->watch >= 0 &&
                folder->count <= CASE_INDEX_MAX_NAMES;
    if (*ret_kept)
        keep(index, folder);
    else if (folder->watch >= 0)
        inotify_rm_watch(index->queue, folder->watch);
    if (r < 0) {
        folder_free(folder);
        return r;
    }
    make_room(index);
    *ret_folder = folder;
    return 0;
}

/* ---- queries ------------------------------------------------------------- */

static bool collides(const struct folder *folder, const char *name,
                     const char *except)
{
    g_autofree char *folded = win_name_fold(name);
    GPtrArray *exact = g_hash_table_lookup(folder->names, folded);

    for (guint i = 0; exact && i < exact->len; i++) {
        const char *other = exact->pdata[i];

        if (strcmp(other, name) != 0 && (!except || strcmp(other, except) != 0))
            return true;
    }
    return false;
}

int case_index_collides(struct case_index *index, struct ic_inode *dir,
                        const char *name, const char *except)
{
    struct key key = { ic_inode_dev(dir), ic_inode_ino(dir) };
    struct folder *folder;
    bool kept = true;
    int r = 0;

    pthread_mutex_lock(&index->lock);
    catch_up(index);
    make_room(index);
    folder = g_hash_table_lookup(index->folders, &key);
    if (folder) {
        g_queue_unlink(&index->recent, &folder->link);
        g_queue_push_head_link(&index->recent, &folder->link);
        settle(index, folder, dir);
    } else {
        r = add_folder(index, dir, &key, &folder, &kept);
    }
    if (r == 0)
        r = collides(folder, name, except);
    if (!kept && r >= 0)
        folder_free(folder);
    pthread_mutex_unlock(&index->lock);
    return r;
}

size_t case_index_names(struct case_index *index)
{
    size_t names;

    pthread_mutex_lock(&index->lock);
    names = index->names;
    pthread_mutex_unlock(&index->lock);
    return names;
}

struct case_index *case_index_new(void)
{
    struct case_index *index = g_new0(struct case_index, 1);

    pthread_mutex_init(&index->lock, NULL);
    index->queue = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    index->folders = g_hash_table_new_full(key_hash, key_equal, NULL,
                                           (GDestroyNotify)folder_free);
    index->watches = g_hash_table_new(NULL, NULL);
    g_queue_init(&index->recent);
    return index;
}

void case_index_free(struct case_index *index)
{
    forget_all(index);
    g_hash_table_unref(index->watches);
    g_hash_table_unref(index->folders);
    fd_close(&index->queue);
    pthread_mutex_destroy(&index->lock);
    g_free(index);
}
