/* SPDX-License-Identifier: Apache-2.0
 *
 * watch_inotify - events without the process that caused them.
 *
 * The source of an event must be inferred: it happened after the queue was last
 * found empty. If a change of the client ran at any time since then, all events
 * read now may be the client's, and count as such: a client's change must never
 * look like an outside edit. verify.h covers edits missed so. But after a
 * client releases a file that it wrote, the server closes it at any time: a
 * file that was closed, and not changed after the client's last change, is no
 * edit.
 *
 * A rename is reported as two events; the directory is recognised by its watch,
 * which does not change.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/proc_fd.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/sys.h"
#include "interceptor/watch/watch_parts.h"

enum {
    EVENTS = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |
             IN_CLOSE_WRITE | IN_ONLYDIR | IN_EXCL_UNLINK,
    BUFFER = 64 << 10,
    CLOCK_SLACK_MS = 20, /* tick of CLOCK_MONOTONIC_COARSE */
};

static int open_queue(const struct watch_host *host)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    return fd < 0 ? -errno : fd;
}

static GBytes *key_of(int wd)
{
    return g_bytes_new(&wd, sizeof(wd));
}

static GBytes *mark(struct watch *watch, int dirfd, int *ret_rc)
{
    struct proc_fd_path path = proc_fd_path(dirfd);
    int wd = inotify_add_watch(watch->fd, path.text, EVENTS);

    /* From now on the end of a change matters, too. */
    watch->host.note_ends(watch->host.opaque);
    *ret_rc = wd < 0 ? -errno : 0;
    return wd < 0 ? NULL : key_of(wd);
}

static struct watch_dir *find(struct watch *watch, int wd)
{
    g_autoptr(GBytes) key = key_of(wd);

    return g_hash_table_lookup(watch->dirs, key);
}

static struct watch_dir *find_child(struct watch *watch,
                                    const struct watch_dir *parent,
                                    const char *name)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, watch->dirs);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct watch_dir *dir = value;

        if (dir->parent == parent && strcmp(dir->name, name) == 0)
            return dir;
    }
    return NULL;
}

static void follow_dir(struct watch *watch, struct watch_dir *parent,
                       uint32_t mask, const char *name)
{
    struct watch_dir *child;

    if (mask & (IN_CREATE | IN_MOVED_TO))
        watch_appeared(watch, parent, name);
    if (!(mask & IN_MOVED_FROM))
        return;
    child = find_child(watch, parent, name);
    if (child)
        child->gone = true; /* until an event reports its new location */
}

/* Return whether the file was closed and not changed. */
static bool is_late_close(struct watch *watch, const struct watch_dir *dir,
                          const struct inotify_event *event, const char *name)
{
    struct stat st;
    int64_t ago_ms;

    if (!(event->mask & IN_CLOSE_WRITE) ||
        watch_stat(watch, dir, name, &st) < 0)
        return false;
    ago_ms = clock_ms() - watch->host.last_change_ms(watch->host.opaque) -
             CLOCK_SLACK_MS;
    return sys_time_us(&st.st_ctim) <= g_get_real_time() - ago_ms * 1000;
}

static void on_event(struct watch *watch, const struct inotify_event *event,
                     bool outside)
{
    struct watch_dir *dir = find(watch, event->wd);
    const char *name = event->len > 0 ? event->name : ".";

    if (event->mask & IN_Q_OVERFLOW)
        watch_lose_locked(watch);
    if (!dir)
        return;
    if (event->mask & IN_IGNORED) {
        watch_dirs_remove(watch->dirs, dir);
        return;
    }
    if (outside && !is_late_close(watch, dir, event, name))
        watch_note(watch, dir, name, 0);
    if (event->mask & IN_ISDIR && event->len > 0)
        follow_dir(watch, dir, event->mask, name);
}

/* Return all queued events; *ret_empty_ms: when the queue was found empty. */
static GByteArray *read_all(struct watch *watch, int64_t *ret_empty_ms)
{
    GByteArray *all = g_byte_array_new();
    g_autofree char *buffer = g_malloc(BUFFER);
    ssize_t len;

    do {
        *ret_empty_ms = clock_ms();
        len = read(watch->fd, buffer, BUFFER);
        if (len > 0)
            g_byte_array_append(all, (guint8 *)buffer, (guint)len);
    } while (len > 0 || (len < 0 && errno == EINTR));
    return all;
}

static void drain(struct watch *watch)
{
    int64_t empty_ms;
    g_autoptr(GByteArray) all = read_all(watch, &empty_ms);
    bool outside = all->len > 0 &&
                   !watch->host.was_active(watch->empty_ms - CLOCK_SLACK_MS,
                                           watch->host.opaque);

    watch->empty_ms = empty_ms;
    for (guint at = 0; at + sizeof(struct inotify_event) <= all->len;) {
        const struct inotify_event *event = (const void *)(all->data + at);

        on_event(watch, event, outside);
        at += (guint)sizeof(*event) + event->len;
    }
}

const struct watch_source watch_inotify = {
    .name = "inotify",
    .open = open_queue,
    .mark = mark,
    .drain = drain,
};
