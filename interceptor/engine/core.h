/* SPDX-License-Identifier: Apache-2.0
 *
 * core - one shared folder, its log, and the step that is open.
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
 * epoch is the open step's number, 0 while there is none, and is never used
 * again: an inode whose epoch equals it has been captured (inode.h). It only
 * changes with the gate write-locked, or from 0 with names held (an ambient
 * step opens).
 */
#ifndef INTERCEPTOR_ENGINE_CORE_H
#define INTERCEPTOR_ENGINE_CORE_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#include "interceptor/capture/capture.h"
#include "interceptor/engine/parking.h"
#include "interceptor/interceptor.h"
#include "interceptor/log/packer.h"
#include "interceptor/log/undo_log.h"
#include "interceptor/sys/events.h"
#include "interceptor/watch/watch.h"

/* Of grants.h. */
struct grants {
    bool suid, devices;                  /* are allowed */
    _Atomic bool told_suid, told_device; /* that one was refused */
};

/* Of durable.h. */
struct durable {
    atomic_bool power; /* set with the gate write-locked */
    _Atomic unsigned in_flight;
    _Atomic int error; /* -errno of a sync in this step, or 0 */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    uint64_t epoch;  /* of the step that this is about */
    int64_t synced;  /* bytes of its record and content */
    size_t contents; /* of its files, when its blobs folder was synced */
    bool syncing;    /* there is a leader */
};

/* Of stale.h. */
struct stale {
    pthread_rwlock_t lock; /* guards tell and opaque; held while tell() runs */
    void (*tell)(const struct ic_stale *list, size_t n, bool wait,
                 void *opaque);
    void *opaque;
    GArray *list; /* of struct ic_stale, each with a name of its own */
};

/* ---- of safeguard.h ------------------------------------------------------ */

enum safeguard_rule {
    SAFEGUARD_DELETE = 1 << 0,
    SAFEGUARD_OVERWRITE = 1 << 1,
    SAFEGUARD_RENAME = 1 << 2,
};

enum {
    SAFEGUARD_SAMPLES = 10, /* paths in an event */
    SAFEGUARD_TIMEOUT_MS = 30000,
};

/* A decision that somebody has to make. */
struct safeguard_decision {
    char *id;
    enum safeguard_rule rule;
    int64_t step_id;
    unsigned timeout_ms;
    bool announced;
    int64_t deadline_ms; /* once announced */
    json_t *payload;     /* of the event */
};

/* Take the open step back; ret_info (may be NULL): what it had done. */
typedef gboolean safeguard_take_back(struct ic *ic,
                                     struct ic_step_info **ret_info,
                                     GError **error);

struct safeguard {
    safeguard_take_back *take_back;
    _Atomic unsigned armed; /* the rules that are set; enum safeguard_rule */

    pthread_mutex_t lock; /* guards what follows */
    struct ic_safeguard_rules rules;
    struct safeguard_decision *pending; /* or NULL */
    uint64_t last_number;               /* of decisions */

    /* The step that is counted. */
    uint64_t epoch;
    unsigned allowed; /* rules that are silent; enum safeguard_rule */
    uint64_t deleted;
    GPtrArray *samples; /* paths of deleted files */
    char *deleting;     /* path of the deletion in work, if it counts */

    /* A denied step that is not closed yet; 0: none. */
    int64_t denied_id;
    bool rolled_back;           /* or tried to */
    struct ic_step_info *taken; /* what was taken back; NULL: failed */
    GError *failure;            /* of taking it back, or NULL */

    pthread_cond_t cond; /* for the thread */
    pthread_t thread;
    bool thread_runs, stop;
    bool refuses; /* the engine ends */
};

/* A committed ambient step that may go on (ambient.h): what it knew, with .step
 * NULL if there is none; and its journal's size without what the commit wrote.
 */
struct ambient_rest {
    struct wal wal;
    int64_t size;
    bool whole; /* the open step cannot be split: a change alone is too much */
};

struct ic {
    /* As others name them; by ic_options these are opened. */
    char *share;
    char *undo_dir; /* NULL: no undo */
    struct folder_mark folder;
    GPtrArray *unkept; /* of ic_barrier: noticed in this step, not in the log */
    bool read_only;
    struct grants grants;
    bool switch_ids;                       /* may create as other users */
    enum ic_outside_policy outside_policy; /* with the gate locked */
    unsigned ambient_ms, progress_ms;
    int watch_fd; /* of ic_watch_open(), until it is used; -1: none */
    char *(*process_name)(pid_t pid, void *opaque);
    void *process_name_opaque;
    struct durable durable;
    struct ic_limits limits; /* under the gate, none is 0 but min_free */
    bool default_limits;     /* none for sizes was configured */
    bool drain;              /* the end waits for what is being removed */

    struct ic_inode *root;
    dev_t dev;
    _Atomic dev_t mount_dev;   /* of ic_set_mount_dev() */
    _Atomic bool told_mounted; /* that what is mounted there is read-only */
    struct inode_table *inodes;

    pthread_rwlock_t gate;
    pthread_mutex_t names;
    _Atomic uint64_t epoch;
    _Atomic int64_t last_change_ms; /* CLOCK_MONOTONIC_COARSE */
    _Atomic int64_t last_leave_ms;  /* a change's end, if notes_leave */
    _Atomic bool notes_leave;       /* for watch_inotify.c */
    struct parking parking;         /* what stands against changes */
    struct safeguard guard;
    struct stale stale; /* what the client has to be told */

    /* NULL: no undo. It may be set later, with the gate write-locked. */
    struct undo_log *_Atomic log;
    /* A log that cannot be used (it is of another version), until it is
     * discarded: then steps are numbered, and no more. Or NULL. */
    struct undo_log *closed_log;
    int64_t last_id;         /* of the steps that were opened meanwhile */
    struct held_links *held; /* NULL: no undo */
    struct wal wal;          /* .step is NULL while no step is open */
    struct ambient_rest ambient_rest; /* guarded as wal */
    uint64_t last_epoch;
    int broken; /* -errno: a rollback stopped half-way, no change may be made */
    int uncounted; /* -errno: why held is not right, at the start; or 0 */

    struct ic_step_info *recovered;                /* or NULL */
    struct control *control;                       /* of control.c, or NULL, */
    void (*control_free)(struct control *control); /* and its end */

    struct events *events;
    struct watch *watch; /* or NULL */
    struct packer *packer;

    pthread_t timer; /* closes ambient steps */
    bool timer_runs;
    pthread_mutex_t timer_lock;
    pthread_cond_t timer_cond;
    bool timer_stop;
};

/* Make the error say which version the log has that cannot be used. */
void core_set_version_error(struct ic *ic, GError **error);

/* The same as a text: a new string. */
char *core_describe_version(struct ic *ic);

/* Is there a log? Else ERROR_NOTHING_TO_UNDO or ERROR_UNDO_VERSION_MISMATCH. */
gboolean core_check_log(struct ic *ic, GError **error);

/* In a change: is what it destroys to be kept? Not without a log, nor in a
 * step that has become unprotected; it never is again in that step. */
static inline bool core_captures(struct ic *ic)
{
    return ic->log &&
           !atomic_load_explicit(&ic->wal.unprotected, memory_order_acquire);
}

#endif
