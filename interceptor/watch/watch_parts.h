/* SPDX-License-Identifier: Apache-2.0
 *
 * watch_parts - private to the files of watch.
 *
 * watch.c has the thread and makes barriers of edits. watch_fanotify.c and
 * watch_inotify.c are the sources of events; both use watch_scan.c to walk the
 * tree.
 *
 * Locks: watch->lock guards all of a watch. No lock of the engine is taken
 * under it. A scan may hold it for long: only watch_has_pending() takes it
 * while the engine's locks are held. watch->reporting is held, outside it, from
 * the look at the queue until the host knows what was found, so that a second
 * caller that finds the queue empty does not overtake the first.
 */
#ifndef INTERCEPTOR_WATCH_WATCH_PARTS_H
#define INTERCEPTOR_WATCH_WATCH_PARTS_H

#include <pthread.h>

#include "interceptor/watch/watch.h"
#include "interceptor/watch/watch_dirs.h"

enum { WATCH_MAX_DIRS = 1 << 18 };

struct watch_source {
    const char *name;
    bool is_complete; /* it reports each change */

    /* Open the event queue: an fd that can be polled, or -errno. */
    int (*open)(const struct watch_host *host);

    /* Watch this directory. Returns its key for the table, new; NULL: -errno in
     * *ret_rc. */
    GBytes *(*mark)(struct watch *watch, int dirfd, int *ret_rc);

    /* Process all queued events. */
    void (*drain)(struct watch *watch);
};

extern const struct watch_source watch_fanotify, watch_inotify;

struct watch {
    struct watch_host host;
    const struct watch_source *source;
    pthread_mutex_t reporting, lock;
    int fd;      /* of the source */
    int stop_fd; /* an eventfd; readable: end the thread */
    pthread_t thread;
    bool runs;

    GHashTable *dirs;    /* watch_dirs.h */
    GPtrArray *unread;   /* references to directories that are not read yet */
    GPtrArray *missed;   /* and to those that must be read again */
    unsigned generation; /* of the scan, which reads each directory once */
    pid_t own_pid;
    bool full;        /* no more marks are available */
    bool overflowed;  /* events were lost since the last barrier */
    bool lost;        /* more has changed than is in touched */
    int64_t event_ms; /* when the queue last had an event */
    int64_t empty_ms; /* when the queue was last found empty */

    GHashTable *touched;        /* paths (char *) to report to the client */
    struct ic_barrier *pending; /* edits not noted yet, or NULL */
    int64_t pending_ms;         /* since this time */
};

/* As watch_new(), from this source only; without a warning. */
struct watch *watch_new_from(const struct watch_host *host,
                             const struct watch_source *source);

/* A directory has appeared at parent/name. */
void watch_appeared(struct watch *watch, struct watch_dir *parent,
                    const char *name);

/* Stat dir/name. Returns 0 or -errno. */
int watch_stat(struct watch *watch, const struct watch_dir *dir,
               const char *name, struct stat *ret_stat);

/* All events so far are processed: queue the missed directories again. */
void watch_retry(struct watch *watch);

/* Read up to count directories, and watch those in them. */
void watch_scan(struct watch *watch, unsigned count);

/* Read everything again. False: not even the root can be watched. */
bool watch_scan_root(struct watch *watch);

/* Another process has changed name in dir. pid 0: unknown. */
void watch_note(struct watch *watch, const struct watch_dir *dir,
                const char *name, pid_t pid);

/* Another process has written to name in dir, and may still have it open. */
void watch_touch(struct watch *watch, const struct watch_dir *dir,
                 const char *name);

/* watch_lose() with the lock held. */
void watch_lose_locked(struct watch *watch);

#endif
