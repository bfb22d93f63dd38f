/* SPDX-License-Identifier: Apache-2.0
 *
 * watch - notice when other processes change the share.
 *
 * The kernel notifies a thread of every change of names, of attributes, and of
 * every file closed after writing, with the process that did it. A change by
 * another process is an outside edit. Edits within a second are coalesced into
 * one barrier (barriers.h) and one event.external_modification.
 *
 * Method: fanotify, with a mark on each directory of the share. One mark on the
 * whole filesystem would need privileges that a sandboxed daemon has dropped,
 * and would wake the thread for everything that the host does there; directory
 * marks cost nothing while other processes work elsewhere. Single writes are
 * not watched: that would report each write of the client, too, which makes a
 * small write several times as expensive. So only verify.h notices a file that
 * another process writes without ever closing it, maps, or truncates by its
 * path, and only if a step has touched it. The exception is a server whose own
 * writes the kernel ignores (watch_host.writes): for its client's cache, each
 * write by another process is reported, and is no edit until the file is
 * closed.
 *
 * Without fanotify (before Linux 5.17, or on a filesystem without file
 * handles), inotify reports the same, but not the process. Then an edit counts
 * as outside only if no change of the client ran at that time.
 *
 * The kernel's queue and the number of marks are limited. If events are lost, a
 * barrier without paths and a warning report that; directories that cannot be
 * marked are left to verify.h, with a warning. Nothing here delays a change by
 * the client.
 */
#ifndef INTERCEPTOR_WATCH_WATCH_H
#define INTERCEPTOR_WATCH_WATCH_H

#include "interceptor/interceptor.h"
#include "interceptor/sys/events.h"

struct watch;

/* The share to watch, and callbacks. All is borrowed for the life of the watch;
 * the callbacks run in its thread and in watch_sync(), without its lock. */
struct watch_host {
    const char *share; /* for messages */
    int root;          /* fd of the share's root, of any kind */
    dev_t dev;
    struct events *events;

    /* An fanotify group that was opened early (ic_watch_open()), taken; or -1:
     * it is opened here. */
    int *fd;

    /* Return the name of a running process, new, or NULL. */
    char *(*process_name)(pid_t pid, void *opaque);

    /* Also report writes to files that stay open. */
    bool writes;

    /* Paths (char *) that other processes have changed; NULL: events were lost,
     * so any may have. wait: return when the client has processed that. */
    void (*touched)(GPtrArray *paths, bool wait, void *opaque);

    /* From now on, touched() gets each change made after since_ms (clock_ms())
     * in the directories that existed then; 0: it may miss some. */
    void (*complete)(int64_t since_ms, void *opaque);

    /* Edits that form one barrier; ownership of the barrier is passed. */
    void (*edited)(struct ic_barrier *barrier, void *opaque);

    /* For a source that does not report the process. note_ends: from now on,
     * also note when a change ends. last_change_ms: return when the client's
     * last change was. was_active: return whether a change ran since then or
     * runs now. Times are clock_ms(). */
    void (*note_ends)(void *opaque);
    int64_t (*last_change_ms)(void *opaque);
    bool (*was_active)(int64_t since_ms, void *opaque);

    void *opaque;
};

/* Start watching. NULL if this host cannot; a warning was sent. host is copied.
 */
struct watch *watch_new(const struct watch_host *host);
void watch_free(struct watch *watch);

/* Read all events so far and note the edits. Call it before reading barriers or
 * adding a record whose order relative to them matters. With none of the
 * engine's locks held. NULL is allowed. */
void watch_sync(struct watch *watch);

/* The same, and wait until the client has processed the edits so far. */
void watch_sync_client(struct watch *watch);

/* Return whether an edit at this path was seen and is not noted yet. The only
 * function that may be called with the engine's locks held. NULL is allowed. */
bool watch_has_pending(struct watch *watch, const char *path);

/* Report that events were lost. For the sources, and for tests. */
void watch_lose(struct watch *watch);

#endif
