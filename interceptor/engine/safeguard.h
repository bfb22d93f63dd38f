/* SPDX-License-Identifier: Apache-2.0
 *
 * safeguard - hold a command that is about to destroy much until a user
 * decides.
 *
 * Rules are checked before the change that exceeds them is made; that change
 * and all later ones are parked (parking.h) while the decision is pending.
 * Allowed: the step goes on, and that rule is silent until the step ends (one
 * answer per rule and step; repeated questions teach users to say yes). Denied,
 * or no answer in time: waiting and new changes fail with EPERM, the step is
 * rolled back, and changes stay refused until the step's owner closes it. A
 * step is rolled back as a whole; otherwise half of the command's work would
 * remain.
 *
 * Only command and API steps are guarded. An ambient step has no command that
 * could be held or killed, and no owner that would close it after a denial: all
 * changes would fail for good.
 *
 * A decision goes pending -> allowed, or pending -> denied -> rolled back ->
 * closed. The caller (confirm, timeout, abort) that finds it pending under lock
 * decides.
 *
 * G1  The event is sent when no change is in flight and none can begin: the
 *     tree does not change until the decision is made.
 * G2  A step with a pending decision is not committed; a denied one never is.
 * G3  If no rule is set, a change costs one load.
 *
 * Locks: the gate and names, then lock, then parking's. The thread sends events
 * and watches the clock; it starts with the first rule.
 */
#ifndef INTERCEPTOR_ENGINE_SAFEGUARD_H
#define INTERCEPTOR_ENGINE_SAFEGUARD_H

#include "interceptor/engine/core.h"

/* roll_back: rolls back a denied step, with the gate write-locked. */
void safeguard_init(struct safeguard *guard, safeguard_roll_back *roll_back);

/* The engine is closing: deny the pending decision and ask no more. The step
 * stays in the log as it is: the next start rolls it back. */
void safeguard_refuse(struct ic *ic);

/* Also ends the thread. */
void safeguard_clear(struct safeguard *guard);

/* ---- for the mutation layer (safeguard_rules.c) -------------------------- */

/* As engine_enter(), for a change of content: existing bytes from this offset
 * on, if any, will change. */
int safeguard_enter(struct ic *ic, struct ic_inode *inode, off_t from);

/* For a change that leaves existing bytes alone. */
#define SAFEGUARD_NOTHING INT64_MAX

/* With names held, before a name is removed or renamed over. Returns 0,
 * IC_PARKED or -EPERM. */
int safeguard_check_delete(struct ic *ic, struct ic_inode *dir,
                           const char *name, const struct stat *now);
int safeguard_check_rename(struct ic *ic, struct ic_inode *from_dir,
                           const char *from, struct ic_inode *dir,
                           const char *name, const struct stat *target);

/* The removal that was checked last has been made. */
void safeguard_note_deleted(struct ic *ic);

/* ---- for the rules (safeguard.c) ----------------------------------------- */

/* With lock held: ask. payload (ownership taken) is the event's, without the
 * members common to all events. Returns IC_PARKED. */
int safeguard_ask_locked(struct ic *ic, enum safeguard_rule rule,
                         json_t *payload);

/* ---- for steps ----------------------------------------------------------- */

/* Return the denied step that is not closed yet, or 0. */
int64_t safeguard_denied_step(struct ic *ic);

/* Check that no denied step waits to be closed: else ERROR_STEP_ACTIVE. */
gboolean safeguard_check_none(struct ic *ic, GError **error);

/* Check that no decision is pending: else ERROR_BUSY. */
gboolean safeguard_check_decided(struct ic *ic, GError **error);

/* With the gate write-locked: deny a pending decision, because the step is
 * rolled back anyway. */
void safeguard_abandon_locked(struct ic *ic);

/* With the gate write-locked: close the denied step. ret_info (may be NULL):
 * what was rolled back. FALSE and error if the rollback failed; the step is
 * closed nevertheless. */
gboolean safeguard_close_denied_locked(struct ic *ic,
                                       struct ic_step_info **ret_info,
                                       GError **error);

/* For the control protocol: return the payload of the pending decision's event,
 * new, or JSON null. */
json_t *safeguard_pending_to_json(struct ic *ic);

#endif
