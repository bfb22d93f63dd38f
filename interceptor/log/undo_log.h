/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log - a folder's undo log on disk.
 *
 *     version              "1\n"
 *     lock                 flock'd by the owner: {"pid":N,"socket":"PATH",
 *                          "beat_ms":N}; its mtime: when the owner was last
 *                          known to be alive (undo_log_owner.h)
 *     reserve              room for a rollback on a full disk
 *     spare/               a staging folder for when none can be made
 *     wal/in_progress/     the open step, or one that is being rolled back
 *     wal/inverse/         the inverse of wal/in_progress, being made or used
 *     wal/trash/<n>/       queued for removal
 *     steps/<id>/          committed steps
 *     redo/<seq>/          inverses of steps that were rolled back
 *     history.jsonl        notes about steps, see below
 *     own.jsonl            the ctime ledger (ctime_ledger.h)
 *     discarded/           former content, during undo_log_discard()
 *     damaged/<n>/         steps that could not be undone and were skipped
 *
 * A step's folder holds manifest.jsonl (step.h) and blobs/. It is made in wal/,
 * renamed to steps/ at commit, back to wal/in_progress for a rollback, and to
 * wal/trash/ at the end. Each of these is one rename, and the step found in
 * wal/in_progress at the start must be undone.
 *
 * Inverses. A rollback makes the step's inverse, a step of the same form in the
 * other direction; to roll that back is to redo, and recreates the step. The
 * inverse is complete (it has its end record) before anything changes; inodes
 * that are put aside move into it; at the end it becomes redo/<seq>, or, in a
 * redo, steps/<id>. The next change by a client drops all of redo/.
 *
 * The order of steps is that of "seq" in their manifests. history.jsonl records
 * what the manifests do not:
 *     {"t":"done","id":7,"seq":3}          committed
 *     {"t":"popped","id":7,"seq":3}        rolled back
 *     {"t":"alias","from":12,"to":99,"seq":3,"at":5,"born":T,"made":U}
 *         the rollback of step 3 had to recreate inode 12 as 99; 5 was then
 *         the newest seq; the btimes of both, if known
 *
 *     {"t":"barrier",...} and {"t":"crossed",...}: see barriers.h
 *
 * Aliases. A number identifies an inode only while the inode lives: 12 may be
 * another inode's later, and 99 may have been one's before. So the number 12 in
 * step s is followed through time: the first step after s in which an inode 12
 * was lost is where this one was lost; after its rollback it is 99 from then
 * ("at") on; and so on. An alias is recorded even if both numbers are equal. If
 * along the way a number was given to another inode, or if the lost 12 has a
 * later btime than s's, the inode was already dead: another process removed it
 * (undo_log_alias.c).
 *
 * Threads: all calls under the engine's locks.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_H
#define INTERCEPTOR_LOG_UNDO_LOG_H

#include "interceptor/log/undo_log_alias.h"
#include "interceptor/log/undo_log_base.h"
#include "interceptor/log/undo_log_discard.h"
#include "interceptor/log/undo_log_history.h"
#include "interceptor/log/undo_log_ids.h"
#include "interceptor/log/undo_log_open.h"
#include "interceptor/log/undo_log_owner.h"
#include "interceptor/log/undo_log_redo.h"
#include "interceptor/log/undo_log_steps.h"
#include "interceptor/log/undo_log_trash.h"

#endif
