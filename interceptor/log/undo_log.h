/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log - a folder's undo log on disk.
 *
 *     version              "1\n"
 *     lock                 flock'd by the owner: {"pid":N,"socket":"PATH",
 *                          "beat_ms":N}; its mtime: when that was last alive
 *                          (undo_log_owner.h)
 *     reserve              room for a rollback on a full disk
 *     spare/               a staging folder for when none can be made
 *     wal/in_progress/     the open step, or one that is being rolled back
 *     wal/inverse/         the inverse of wal/in_progress, being made or used
 *     wal/trash/<n>/       what is being removed
 *     steps/<id>/          committed steps
 *     redo/<seq>/          inverses of steps that were taken back
 *     history.jsonl        notes about steps, see below
 *     own.jsonl            what undo itself has changed (own.h)
 *     discarded/           what was all of this, until undo_log_discard()
 *     damaged/<n>/         steps that could not be undone, and were passed by
 *
 * A step's folder holds manifest.jsonl (step.h) and blobs/. It is made in
 * wal/, is renamed to steps/ when it is committed, back to wal/in_progress to
 * be rolled back, and to wal/trash/ when it is done with. So each of these is
 * one rename, and whatever is found in wal/in_progress at the start is to be
 * undone.
 *
 * Inverses. Taking back a step makes its inverse, a step of the same form that
 * leads the other way; taking that back is redoing, and makes the step again.
 * The inverse is complete (it has its end record) before anything is changed,
 * what is put aside moves into it, and when all is done it becomes redo/<seq>,
 * or, of a redo, steps/<id>. The next change by a client drops all in redo/.
 *
 * The order of steps is that of "seq" in their manifests. history.jsonl has
 * what is not in them:
 *     {"t":"done","id":7,"seq":3}          committed
 *     {"t":"popped","id":7,"seq":3}        rolled back
 *     {"t":"alias","from":12,"to":99,"seq":3,"at":5,"born":T,"made":U}
 *         rolling back step 3 had to make inode 12 anew, as 99; 5 was then the
 *         newest seq; the births of both, where they are known
 *
 *     {"t":"barrier",...} and {"t":"crossed",...}: see barriers.h
 *
 * Aliases. A number is an inode's only while the inode lives: 12 may be
 * another inode's later, and 99 may have been one's before. So what a step s
 * calls 12 is followed through time: the first step after s in which a 12 was
 * lost is where this one was; rolled back, it is 99 from then ("at") on; and
 * so on. An alias is noted also if both numbers are equal. If on this way a
 * number was given to something else, or if the 12 that was lost was born after
 * s had met its own, the inode was dead by then: others have removed it
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
