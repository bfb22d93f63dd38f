/* SPDX-License-Identifier: Apache-2.0
 *
 * gate - see gate.h.
 */
#include <errno.h>
#include <time.h>

#include "interceptor/engine/ambient.h"
#include "interceptor/engine/core.h"
#include "interceptor/engine/gate.h"
#include "interceptor/engine/limits_step.h"
#include "interceptor/engine/parking.h"
#include "interceptor/engine/redo_target.h"
#include "interceptor/engine/steps.h"
#include "interceptor/sys/clock.h"

void gate_init(struct ic *ic)
{
    pthread_rwlockattr_t attr;

    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&ic->gate, &attr);
    pthread_rwlockattr_destroy(&attr);
}

/* Read-lock the gate when no hold but a rollback blocks changes. */
static int pass_gate(struct ic *ic)
{
    for (;;) {
        int rc = parking_holds(&ic->parking) ? parking_pass(&ic->parking) : 0;

        if (rc < 0)
            return rc;
        pthread_rwlock_rdlock(&ic->gate);
        /* A thread that asks for a decision drains the gate before it announces
         * that: any change that enters later sees the hold here. */
        if (!(parking_holds(&ic->parking) & ~(unsigned)PARKING_ROLLBACK))
            return 0;
        pthread_rwlock_unlock(&ic->gate);
    }
}

static void note_change(struct ic *ic)
{
    int64_t now = clock_ms();

    /* Store only a new value, so that writers do not share the cache line. */
    if (atomic_load_explicit(&ic->last_change_ms, memory_order_relaxed) != now)
        atomic_store_explicit(&ic->last_change_ms, now, memory_order_relaxed);
}

bool engine_is_mounted(const struct ic *ic, const struct ic_inode *inode)
{
    return ic->undo_dir && (inode->dev != ic->dev || inode->other_mount);
}

/* The client only sees the error. */
static void tell_mounted(struct ic *ic)
{
    if (!atomic_exchange(&ic->told_mounted, true))
        events_warn(ic->events,
                    "a change was refused with EROFS: the undo log covers one "
                    "filesystem, so mounts below %s, btrfs subvolumes there, "
                    "and on overlayfs without xino=on the files of a lower "
                    "layer are read-only",
                    ic->share);
}

int engine_enter(struct ic *ic, struct ic_inode *inode)
{
    int rc;

    if (ic->read_only)
        return -EROFS;
    /* The log cannot take inodes of another mount, and their numbers mean
     * nothing here if they are of another filesystem. */
    if (engine_is_mounted(ic, inode)) {
        tell_mounted(ic);
        return -EROFS;
    }
    rc = pass_gate(ic);
    /* A refused change also shows that a command is still active. */
    note_change(ic);
    if (rc < 0)
        return rc;
    rc = ic->broken ? ic->broken : inode_check(inode);
    if (rc < 0)
        pthread_rwlock_unlock(&ic->gate);
    return rc;
}

void engine_leave(struct ic *ic)
{
    if (atomic_load_explicit(&ic->notes_leave, memory_order_relaxed))
        atomic_store(&ic->last_leave_ms, clock_ms());
    pthread_rwlock_unlock(&ic->gate);
}

int engine_need_step(struct ic *ic)
{
    int rc;

    if (!core_captures(ic))
        return 0;
    rc = redo_drop_all(ic);
    if (rc < 0)
        return rc;
    if (ic->wal.step)
        return limits_check_step(ic);
    rc = ambient_resume(ic);
    if (rc != 0)
        return MIN(rc, 0);
    return steps_begin(ic, undo_log_least_id(ic->log) - 1, IC_STEP_AMBIENT,
                       NULL);
}

void ic_set_unparked(struct ic *ic, void (*unparked)(int verdict, void *opaque),
                     void *opaque)
{
    struct parking *parking = &ic->parking;

    pthread_mutex_lock(&parking->lock);
    parking->unparked = unparked;
    parking->opaque = opaque;
    pthread_mutex_unlock(&parking->lock);
}
