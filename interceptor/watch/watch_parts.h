/* SPDX-License-Identifier: Apache-2.0
 *
 * watch_parts - what the files of watch share, and nobody else uses.
 *
 * watch.c has the thread and makes barriers of edits. watch_fanotify.c and
 * watch_inotify.c each are a source of events; both go over the tree by
 * watch_scan.c.
 *
 * Locks: watch->lock guards all of a watch. None of the engine's locks is
 * waited for while it is held. It may be held for long (a scan): only
 * watch_has_pending() takes it while they are.
 */
#ifndef INTERCEPTOR_WATCH_WATCH_PARTS_H
#define INTERCEPTOR_WATCH_WATCH_PARTS_H

#include <pthread.h>

#include "interceptor/watch/watch.h"
#include "interceptor/watch/watch_dirs.h"

enum { WATCH_MAX_DIRS = 1 << 18 };

struct watch_source {
    const char *name;

    /* The event queue: an fd that can be polled, or -errno. */
    int (*open)(const struct watch_host *host);

    /* Watch this directory. Its key for the table, new; NULL: -errno in
     * *ret_rc. */
    GBytes *(*mark)(struct watch *watch, int dirfd, int *ret_rc);

    /* Take in all events that there are. */
    void (*drain)(struct watch *watch);
};

extern const struct watch_source watch_fanotify, watch_inotify;

struct watch {
    struct watch_host host;
    const struct watch_source *source;
    pthread_mutex_t lock;
    int fd;      /* of the source */
    int stop_fd; /* an eventfd: end the thread */
    pthread_t thread;
    bool runs;

    GHashTable *dirs;    /* watch_dirs.h */
    GPtrArray *unread;   /* references to directories not looked into yet */
    GPtrArray *missed;   /* and to those to be looked into once more */
    unsigned generation; /* of the scan: each directory is read once in it */
    pid_t own_pid;
    bool full;        /* there are no more marks */
    bool overflowed;  /* events were lost since the last barrier */
    int64_t empty_ms; /* when the queue was last found empty */

    GHashTable *touched; /* paths (char *) that the client is to be told of */
    struct ic_barrier *pending; /* edits not noted yet, or NULL */
    int64_t pending_ms;         /* since when */
};

/* As watch_new(), from this source alone; without a warning. */
struct watch *watch_new_from(const struct watch_host *host,
                             const struct watch_source *source);

/* dirfd is a directory of the share: watch it, and look into it later. */
void watch_add_dir(struct watch *watch, int dirfd, struct watch_dir *parent,
                   const char *name);

/* A directory has appeared at parent/name. */
void watch_appeared(struct watch *watch, struct watch_dir *parent,
                    const char *name);

/* What is at dir/name now. 0 or -errno. */
int watch_stat(struct watch *watch, const struct watch_dir *dir,
               const char *name, struct stat *ret_stat);

/* All that has happened is known: look again for what was not where it had
 * appeared. */
void watch_retry(struct watch *watch);

/* Look into up to count directories, and watch those in them. */
void watch_scan(struct watch *watch, unsigned count);

/* Look into everything again. False: not even the root can be watched. */
bool watch_scan_root(struct watch *watch);

/* Somebody else has changed name in dir. pid 0: it is not known who. */
void watch_note(struct watch *watch, const struct watch_dir *dir,
                const char *name, pid_t pid);

/* watch_lose() with the lock held. */
void watch_lose_locked(struct watch *watch);

#endif
