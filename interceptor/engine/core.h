/* SPDX-License-Identifier: Apache-2.0
 *
 * core - one shared folder, its log and the open step.
 *
 * Locks, in order:
 *  gate   read-locked by each change of the share while it runs; write-locked
 *         to open or close a step and to roll back. So a step closes when no
 *         change is in flight, and nothing changes while a rollback runs.
 *         Waiting writers come first.
 *  names  held by changes of names, and by captures while they touch the
 *         step's tables. Guards wal's contents and the log.
 *  guard.lock, parking.lock  leaves.
 *
 * epoch is the open step's number, 0 while there is none, and is never reused:
 * an inode whose epoch equals it has been captured (inode.h). It only changes
 * with the gate write-locked, or from 0 with names held (an ambient step
 * opens).
 */
#ifndef INTERCEPTOR_ENGINE_CORE_H
#define INTERCEPTOR_ENGINE_CORE_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#include "interceptor/capture/capture.h"
#include "interceptor/engine/parking.h"
#include "interceptor/engine/open_writes.h"
#include "interceptor/interceptor.h"
#include "interceptor/log/packer.h"
#include "interceptor/log/undo_log.h"
#include "interceptor/sys/events.h"
#include "interceptor/watch/watch.h"

enum { WRITERS_SEEN = 1024 };

/* See grants.h. */
struct grants {
    bool suid, devices; /* allowed */
    /* One more than the epoch in which a refusal was last reported. */
    _Atomic uint64_t told_suid, told_device;
};

/* See durable.h. */
struct durable {
    atomic_bool power; /* set with the gate write-locked */
    _Atomic unsigned in_flight;
    _Atomic int error; /* -errno of a sync in this step, or 0 */

    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    uint64_t epoch; /* of the step described here */
    int64_t synced; /* bytes of its record and content */
    size_t
        contents; /* its content count at the last sync of its blobs folder */
    bool syncing; /* there is a leader */
};

/* See stale.h. */
struct stale {
    pthread_rwlock_t lock; /* guards tell and opaque; held while tell() runs */
    void (*tell)(const struct ic_stale *list, size_t n, bool wait,
                 void *opaque);
    void *opaque;
    GArray *list; /* struct ic_stale, each with a name of its own */

    _Atomic uint64_t n_changes, n_own; /* see ic_stale_count() */

    /* L2a */
    bool drops_pages; /* see ic_set_stale_pages() */
    _Atomic uint64_t n_undos;

    /* L3. complete_ms: see watch_host.complete; 0: not complete. */
    _Atomic int64_t complete_ms;
    bool is_local; /* only processes of this host change the filesystem */
    bool writes;   /* ic_options.watch_writes */
};

/* ---- safeguards (safeguard.h) -------------------------------------------- */

enum safeguard_rule {
    SAFEGUARD_DELETE = 1 << 0,
    SAFEGUARD_OVERWRITE = 1 << 1,
    SAFEGUARD_RENAME = 1 << 2,
};

enum {
    SAFEGUARD_SAMPLES = 10, /* paths in an event */
    SAFEGUARD_TIMEOUT_MS = 30000,
};

/* A decision that the user has to make. */
struct safeguard_decision {
    char *id;
    enum safeguard_rule rule;
    int64_t step_id;
    unsigned timeout_ms;
    bool announced;
    int64_t deadline_ms; /* set once announced */
    json_t *payload;     /* of the event */
};

/* Roll back the open step; ret_info (may be NULL): what it had done. */
typedef gboolean safeguard_roll_back(struct ic *ic,
                                     struct ic_step_info **ret_info,
                                     GError **error);

struct safeguard {
    safeguard_roll_back *roll_back;
    _Atomic unsigned armed; /* active rules; enum safeguard_rule */

    pthread_mutex_t lock; /* guards the fields below */
    struct ic_safeguard_rules rules;
    struct safeguard_decision *pending; /* or NULL */
    uint64_t last_number;               /* number of the last decision */

    /* The step whose deletions are counted. */
    uint64_t epoch;
    unsigned allowed; /* silenced rules; enum safeguard_rule */
    uint64_t deleted;
    GPtrArray *samples; /* paths of deleted files */
    char *deleting;     /* path of the current deletion, if it counts */

    /* A denied step that is not closed yet; 0: none. */
    int64_t denied_id;
    char *denial;               /* id of its decision, until that is reported */
    const char *denial_reason;  /* static */
    bool rolled_back;           /* or the attempt failed */
    struct ic_step_info *taken; /* what was rolled back; NULL: failed */
    GError *failure;            /* of the rollback, or NULL */

    pthread_cond_t cond; /* wakes the thread */
    pthread_t thread;
    bool thread_runs, stop;
    bool refuses; /* the engine is closing */
};

/* A committed ambient step that may continue (ambient.h): its state, with .step
 * NULL if there is none; and its journal's size before the commit. */
struct ambient_rest {
    struct wal wal;
    int64_t size;
    bool whole; /* splitting is useless: one change alone is too large */
};

struct ic {
    /* Names for messages; the paths in ic_options are opened. */
    char *share;
    char *undo_dir; /* NULL: no undo */
    struct folder_mark folder;
    GPtrArray
        *unkept; /* ic_barrier: edits during this step that the log lacks */
    bool read_only;
    struct grants grants;
    bool switch_ids;                       /* may create as other users */
    enum ic_outside_policy outside_policy; /* under the gate */
    unsigned ambient_ms, progress_ms;
    int watch_fd; /* from ic_watch_open(), until it is used; -1: none */
    char *(*process_name)(pid_t pid, void *opaque);
    void *process_name_opaque;
    struct durable durable;
    struct ic_limits limits; /* under the gate; only min_free may be 0 */
    bool default_limits;     /* no size limit was configured */
    bool drain;              /* closing waits for pending removals */

    struct ic_inode *root;
    dev_t dev;
    _Atomic dev_t mount_dev;   /* from ic_set_mount_dev() */
    _Atomic bool told_mounted; /* read-only mounts were reported */
    struct inode_table *inodes;

    pthread_rwlock_t gate;
    pthread_mutex_t names;
    _Atomic uint64_t epoch;
    _Atomic int64_t last_change_ms; /* CLOCK_MONOTONIC_COARSE */
    _Atomic int64_t last_leave_ms;  /* end of the last change, if notes_leave */
    _Atomic bool notes_leave;       /* for watch_inotify.c */
    struct parking parking;         /* holds on changes */
    struct safeguard guard;
    struct stale stale; /* changes to report to the client */
    struct open_writes open_writes;

    /* NULL: no undo. May be set later, with the gate write-locked. */
    struct undo_log *_Atomic log;
    /* A log of another version, until it is discarded: meanwhile steps are only
     * numbered. Or NULL. */
    struct undo_log *closed_log;
    int64_t last_id;                  /* of the steps opened meanwhile */
    struct log_links *log_links;      /* NULL: no undo */
    struct wal wal;                   /* .step is NULL while no step is open */
    struct ambient_rest ambient_rest; /* guarded as wal */
    uint64_t last_epoch;
    int broken; /* -errno: a rollback stopped half-way; no change is allowed */
    int uncounted; /* -errno: why log_links is incomplete; or 0 */

    struct writers *writers;
    _Atomic uint64_t writers_seen[WRITERS_SEEN]; /* see writing.h */

    struct ic_step_info *recovered;                /* or NULL */
    struct control *control;                       /* of control.c, or NULL */
    void (*control_free)(struct control *control); /* frees control */

    struct events *events;
    struct watch *watch; /* or NULL */
    struct packer *packer;

    pthread_t timer; /* closes ambient steps */
    bool timer_runs;
    pthread_mutex_t timer_lock;
    pthread_cond_t timer_cond;
    bool timer_stop;
};

/* Return the version of a log that cannot be used, as a text: a new string. */
char *core_describe_version(struct ic *ic);

/* Check that there is a log; else ERROR_NOTHING_TO_UNDO or
 * ERROR_UNDO_VERSION_MISMATCH. */
gboolean core_check_log(struct ic *ic, GError **error);

/* In a change: return whether to save what it destroys. False without a log,
 * and from the moment a step becomes unprotected until it ends. */
static inline bool core_captures(struct ic *ic)
{
    return ic->log &&
           !atomic_load_explicit(&ic->wal.unprotected, memory_order_acquire);
}

#endif
