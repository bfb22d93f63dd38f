/* SPDX-License-Identifier: Apache-2.0
 *
 * watch_fanotify - events with the process that caused them.
 *
 * The event's directory and, for names, the inode itself come as file handles;
 * a rename is one event with both locations (FAN_RENAME), so Linux 5.17 is
 * needed. The pid is that of the process (not the thread) in this pid
 * namespace; a listener without CAP_SYS_ADMIN gets 0 for every process but
 * itself, which is enough to recognise the server's own events.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "interceptor/watch/watch_parts.h"

#ifndef FAN_REPORT_TARGET_FID
#define FAN_REPORT_TARGET_FID 0x00001000
#endif
#ifndef FAN_RENAME
#define FAN_RENAME 0x10000000
#endif
#ifndef FAN_EVENT_INFO_TYPE_OLD_DFID_NAME
#define FAN_EVENT_INFO_TYPE_OLD_DFID_NAME 10
#define FAN_EVENT_INFO_TYPE_NEW_DFID_NAME 12
#endif
#ifndef AT_HANDLE_FID
#define AT_HANDLE_FID AT_REMOVEDIR /* Linux 6.5: for comparison only */
#endif

enum {
    INIT_FLAGS = FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_FID |
                 FAN_REPORT_DIR_FID | FAN_REPORT_NAME | FAN_REPORT_TARGET_FID,
    UNLIMITED = FAN_UNLIMITED_QUEUE | FAN_UNLIMITED_MARKS,
    EDITS = FAN_CREATE | FAN_DELETE | FAN_RENAME | FAN_ATTRIB | FAN_CLOSE_WRITE,
    EVENTS = EDITS | FAN_DELETE_SELF | FAN_ONDIR | FAN_EVENT_ON_CHILD,
    BUFFER = 64 << 10,
    HANDLE_MAX = 128,
};

/* The location of an event: a directory, and a name in it. */
struct place {
    const struct file_handle *dir;
    const char *name;
};

struct event {
    uint64_t mask;
    pid_t pid;
    struct place at, from, to;
    const struct file_handle *child;
};

int ic_watch_open(void)
{
    int fd = fanotify_init(INIT_FLAGS | UNLIMITED, O_RDONLY | O_CLOEXEC);

    if (fd < 0 && errno == EPERM)
        fd = fanotify_init(INIT_FLAGS, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

bool ic_watch_spare_mount(int watch_fd, const char *path)
{
    int rc = fanotify_mark(watch_fd,
                           FAN_MARK_ADD | FAN_MARK_MOUNT |
                               FAN_MARK_IGNORED_MASK |
                               FAN_MARK_IGNORED_SURV_MODIFY,
                           FAN_CLOSE_WRITE | FAN_MODIFY, AT_FDCWD, path);

    if (rc == 0)
        return true;
    log_debug(LOG_FILE_WATCHER,
              "fanotify: cannot ignore the server's own writes: %s",
              g_strerror(errno));
    return false;
}

static int open_queue(const struct watch_host *host)
{
    int fd = *host->fd;

    *host->fd = -1;
    return fd >= 0 ? fd : ic_watch_open();
}

/* ---- keys ---------------------------------------------------------------- */

static GBytes *key_of(const struct file_handle *handle)
{
    return g_bytes_new(handle, sizeof(*handle) + handle->handle_bytes);
}

static GBytes *read_key(int dirfd, int *ret_rc)
{
    union {
        struct file_handle handle;
        char bytes[sizeof(struct file_handle) + HANDLE_MAX];
    } space = { .handle.handle_bytes = HANDLE_MAX };
    int mount,
        rc = name_to_handle_at(dirfd, "", &space.handle, &mount, AT_EMPTY_PATH);

    if (rc < 0 && errno == EOPNOTSUPP) {
        space.handle.handle_bytes = HANDLE_MAX;
        rc = name_to_handle_at(dirfd, "", &space.handle, &mount,
                               AT_EMPTY_PATH | AT_HANDLE_FID);
    }
    *ret_rc = rc < 0 ? -errno : 0;
    return rc < 0 ? NULL : key_of(&space.handle);
}

static GBytes *mark(struct watch *watch, int dirfd, int *ret_rc)
{
    uint64_t events = EVENTS | (watch->host.writes ? FAN_MODIFY : 0);

    /* Not dirfd with a NULL path: old C libraries reject that. */
    if (fanotify_mark(watch->fd, FAN_MARK_ADD | FAN_MARK_ONLYDIR, events, dirfd,
                      ".") < 0) {
        *ret_rc = -errno;
        return NULL;
    }
    return read_key(dirfd, ret_rc);
}

static struct watch_dir *find(struct watch *watch,
                              const struct file_handle *handle)
{
    g_autoptr(GBytes) key = handle ? key_of(handle) : NULL;

    return key ? g_hash_table_lookup(watch->dirs, key) : NULL;
}

/* ---- changes of directories ---------------------------------------------- */

static void on_renamed(struct watch *watch, const struct event *event)
{
    struct watch_dir *dir = find(watch, event->child);
    struct watch_dir *to = find(watch, event->to.dir);
    bool is_new;

    if (to && dir)
        watch_dirs_put(watch->dirs, dir->key, to, event->to.name, &is_new);
    else if (to)
        watch_appeared(watch, to, event->to.name);
    else if (dir)
        dir->gone = true;
}

static void follow_dir(struct watch *watch, const struct event *event)
{
    struct watch_dir *parent = find(watch, event->at.dir);
    struct watch_dir *child = find(watch, event->child);

    if (event->mask & FAN_CREATE && parent)
        watch_appeared(watch, parent, event->at.name);
    if (event->mask & FAN_RENAME)
        on_renamed(watch, event);
    if (event->mask & FAN_DELETE && child)
        watch_dirs_remove(watch->dirs, child);
    if (event->mask & FAN_DELETE_SELF && parent && parent->parent)
        watch_dirs_remove(watch->dirs, parent);
}

/* ---- events -------------------------------------------------------------- */

static void note(struct watch *watch, const struct event *event,
                 const struct place *place)
{
    struct watch_dir *dir = find(watch, place->dir);

    if (dir && event->mask & EDITS)
        watch_note(watch, dir, place->name, event->pid);
    else if (dir)
        watch_touch(watch, dir, place->name);
}

static void on_event(struct watch *watch, const struct event *event)
{
    bool outside = event->pid != watch->own_pid;

    /* Note the old path before the directory moves in the table, and the new
     * path after it. */
    if (outside && !(event->mask & FAN_DELETE_SELF)) {
        note(watch, event, &event->at);
        note(watch, event, &event->from);
    }
    if (event->mask & FAN_ONDIR)
        follow_dir(watch, event);
    if (outside)
        note(watch, event, &event->to);
}

static void read_info(struct event *event,
                      const struct fanotify_event_info_fid *info)
{
    const struct file_handle *handle = (const void *)info->handle;
    size_t head = sizeof(*info) + sizeof(*handle);
    struct place place = { handle, NULL };

    if (info->hdr.len < head || handle->handle_bytes > HANDLE_MAX ||
        info->hdr.len < head + handle->handle_bytes)
        return;
    place.name = (const char *)handle->f_handle + handle->handle_bytes;
    switch (info->hdr.info_type) {
    case FAN_EVENT_INFO_TYPE_DFID_NAME:
        event->at = place;
        break;
    case FAN_EVENT_INFO_TYPE_DFID:
        event->at = (struct place){ handle, "." };
        break;
    case FAN_EVENT_INFO_TYPE_OLD_DFID_NAME:
        event->from = place;
        break;
    case FAN_EVENT_INFO_TYPE_NEW_DFID_NAME:
        event->to = place;
        break;
    case FAN_EVENT_INFO_TYPE_FID:
        event->child = handle;
        break;
    default:
        break;
    }
}

static void read_event(struct watch *watch,
                       const struct fanotify_event_metadata *metadata)
{
    struct event event = { .mask = metadata->mask, .pid = metadata->pid };
    const char *at = (const char *)metadata + metadata->metadata_len;
    const char *end = (const char *)metadata + metadata->event_len;

    if (metadata->vers != FANOTIFY_METADATA_VERSION)
        return;
    if (metadata->mask & FAN_Q_OVERFLOW) {
        watch_lose_locked(watch);
        return;
    }
    while (end - at >= (ptrdiff_t)sizeof(struct fanotify_event_info_fid)) {
        const struct fanotify_event_info_fid *info = (const void *)at;

        if (info->hdr.len == 0 || info->hdr.len > end - at)
            break;
        read_info(&event, info);
        at += info->hdr.len;
    }
    on_event(watch, &event);
}

/* Of the server's own events only those of directories matter. */
static bool is_idle(const struct watch *watch,
                    const struct fanotify_event_metadata *head)
{
    return head->pid == watch->own_pid &&
           !(head->mask & (FAN_ONDIR | FAN_DELETE_SELF | FAN_Q_OVERFLOW));
}

static void drain(struct watch *watch)
{
    g_autofree char *buffer = g_malloc(BUFFER), *event = g_malloc(BUFFER);
    ssize_t len;

    while ((len = read(watch->fd, buffer, BUFFER)) > 0 ||
           (len < 0 && errno == EINTR)) {
        const char *at = buffer;

        /* Events follow each other without alignment. */
        while (len >= (ssize_t)sizeof(struct fanotify_event_metadata)) {
            struct fanotify_event_metadata head;

            memcpy(&head, at, sizeof(head));
            if (head.event_len < sizeof(head) || head.event_len > (size_t)len)
                break;
            if (!is_idle(watch, &head)) {
                memcpy(event, at, head.event_len);
                read_event(watch, (const void *)event);
            }
            at += head.event_len;
            len -= head.event_len;
        }
    }
}

const struct watch_source watch_fanotify = {
    .name = "fanotify",
    .is_complete = true,
    .open = open_queue,
    .mark = mark,
    .drain = drain,
};
