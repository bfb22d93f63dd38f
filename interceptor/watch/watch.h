/* SPDX-License-Identifier: Apache-2.0
 *
 * watch - notice when others change the share.
 *
 * The kernel tells a thread of ours of every change of names, of attributes,
 * and of every file that was closed after writing, with the process that did
 * it: what was not us is an edit from outside. Edits within a second become
 * one barrier (barriers.h) and one event.external_modification.
 *
 * How: fanotify, with a mark on each directory of the share. A mark on the
 * whole filesystem would be one call, but needs privileges which a sandboxed
 * daemon has given up, and would wake us for everything that the host does
 * there; these marks cost nothing while others work elsewhere. Single writes
 * are not asked for: every write of the client's would be told as well, which
 * makes a small write several times as dear. So what somebody writes without
 * ever closing the file, maps, or truncates by its path is noticed by
 * verify.h alone, if a step has touched it.
 *
 * Without fanotify (before Linux 5.17, or on a filesystem without file
 * handles), inotify tells the same but not who did it. Then an edit counts as
 * one from outside only if nothing of ours ran at that time.
 *
 * The kernel's queue and the number of marks are limited. When events were
 * lost, a barrier without paths and a warning say so; what cannot be marked is
 * left to verify.h, with a warning.
 *
 * Nothing here holds up a change by the client.
 */
#ifndef INTERCEPTOR_WATCH_WATCH_H
#define INTERCEPTOR_WATCH_WATCH_H

#include "interceptor/interceptor.h"
#include "interceptor/sys/events.h"

struct watch;

/* Whose share is watched. All is borrowed for the life of the watch; the
 * callbacks come from its thread and from watch_sync(), without its lock. */
struct watch_host {
    const char *share; /* for messages */
    int root;          /* of the share, any fd */
    dev_t dev;
    struct events *events;

    /* An fanotify group that was opened in time (ic_watch_open()), taken; or
     * -1: it is opened here. */
    int *fd;

    /* The name of a process that still runs, new, or NULL. */
    char *(*process_name)(pid_t pid, void *opaque);

    /* Paths (char *) that other processes have changed. */
    void (*touched)(GPtrArray *paths, void *opaque);

    /* Edits that belong together; the barrier is taken. */
    void (*edited)(struct ic_barrier *barrier, void *opaque);

    /* For a source that does not tell who it was: from now on the end of a
     * change matters, too; when the last change of the client was; and was
     * there one since then, or is there one now? Times are clock_ms(). */
    void (*note_ends)(void *opaque);
    int64_t (*last_change_ms)(void *opaque);
    bool (*was_active)(int64_t since_ms, void *opaque);

    void *opaque;
};

/* Begin. NULL if this host cannot; that was warned of. host is copied. */
struct watch *watch_new(const struct watch_host *host);
void watch_free(struct watch *watch);

/* Take in all that has happened until now, and note it: before something that
 * asks for barriers or has its place among them. With none of the engine's
 * locks held. NULL is allowed. */
void watch_sync(struct watch *watch);

/* Was an edit at this path seen, and is yet to be noted? The one function that
 * may be called with the engine's locks held. NULL is allowed. */
bool watch_has_pending(struct watch *watch, const char *path);

/* Events were lost. For the watchers, and for tests. */
void watch_lose(struct watch *watch);

#endif
