/* SPDX-License-Identifier: Apache-2.0
 *
 * engine - one shared folder, its log, and the step that is open.
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
#ifndef INTERCEPTOR_ENGINE_ENGINE_H
#define INTERCEPTOR_ENGINE_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "interceptor/capture/capture.h"
#include "interceptor/engine/durable.h"
#include "interceptor/engine/folder.h"
#include "interceptor/engine/grants.h"
#include "interceptor/engine/parking.h"
#include "interceptor/engine/safeguard.h"
#include "interceptor/engine/stale.h"
#include "interceptor/interceptor.h"
#include "interceptor/log/packer.h"
#include "interceptor/log/undo_log.h"
#include "interceptor/sys/events.h"
#include "interceptor/watch/watch.h"

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

    struct ic_step_info *recovered; /* or NULL */
    struct control *control;        /* of control.c, or NULL, */
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

/* Once, before all else. */
void engine_init_gate(struct ic *ic);

/* A change of the inode begins: waits for the gate and leaves it read-locked,
 * or fails (-EROFS, -EIO, -EPERM, -ESTALE, IC_PARKED) and does not. */
int engine_enter(struct ic *ic, struct ic_inode *inode);

/* Is it of something mounted below the share, which the log cannot hold? */
bool engine_is_mounted(const struct ic *ic, const struct ic_inode *inode);
void engine_leave(struct ic *ic);

/* With names held, in a change: make sure that a step is open; an ambient one
 * if there is none. 0 or -errno. Without an undo log: 0, and ic->log is NULL.
 */
int engine_need_step(struct ic *ic);

/* In a change: is what it destroys to be kept? Not without a log, nor in a
 * step that has become unprotected; it never is again in that step. */
bool engine_captures(struct ic *ic);

/* A single path component that the client may name. */
bool engine_is_name(const char *name);

#endif
