/* SPDX-License-Identifier: Apache-2.0
 *
 * safeguard - a command that is about to destroy much is held until somebody
 * says whether it may.
 *
 * Rules are checked before the change that crosses their line is made; that
 * change and all that follow are parked (parking.h) while the decision is
 * pending. Allowed: the step goes on, and that rule is silent until the step
 * ends (one answer for a rule and a step; asking again and again teaches
 * people to say yes). Denied, or no answer in time: what waits and what comes
 * fails with EPERM, the step is taken back, and so it stays until the step's
 * owner closes it. A step is taken back as a whole, or it would end as half of
 * what somebody meant.
 *
 * Only command and API steps are guarded. An ambient step has no command that
 * could be held or killed, and nobody who would close it after a denial: all
 * changes would fail for good.
 *
 * A decision goes pending -> allowed, or pending -> denied -> taken back ->
 * closed. Who decides (confirm, timeout, abort) is the one who finds it
 * pending under lock.
 *
 * G1  The event is sent when no change is in flight and none can begin: the
 *     tree is still until the decision is made.
 * G2  A step with a pending decision is not committed; a denied one never is.
 * G3  Where no rule is set, a change costs a load for it.
 *
 * Locks: the gate and names, then lock, then parking's. The thread sends
 * events and watches the clock; it is started with the first rule.
 */
#ifndef INTERCEPTOR_ENGINE_SAFEGUARD_H
#define INTERCEPTOR_ENGINE_SAFEGUARD_H

#include "interceptor/engine/core.h"

/* take_back: of a denied step, with the gate write-locked. */
void safeguard_init(struct safeguard *guard, safeguard_take_back *take_back);

/* The engine ends: who waits for a decision gets a no, and no more are asked
 * for. The step stays as it is in the log: the next start takes it back. */
void safeguard_refuse(struct ic *ic);

/* Ends the thread, too. */
void safeguard_clear(struct safeguard *guard);

/* ---- for the one door (safeguard_rules.c) -------------------------------- */

/* As engine_enter(), for a change of content: existing bytes from this offset
 * on (of those there may be) will not be what they were. */
int safeguard_enter(struct ic *ic, struct ic_inode *inode, off_t from);

/* SAFEGUARD_NOTHING for a change that leaves what is there. */
#define SAFEGUARD_NOTHING INT64_MAX

/* With names held, before a name is removed, or renamed over another. 0,
 * IC_PARKED or -EPERM. */
int safeguard_check_delete(struct ic *ic, struct ic_inode *dir,
                           const char *name, const struct stat *now);
int safeguard_check_rename(struct ic *ic, struct ic_inode *from_dir,
                           const char *from, struct ic_inode *dir,
                           const char *name, const struct stat *target);

/* The removal that was checked last was made. */
void safeguard_note_deleted(struct ic *ic);

/* ---- for the rules (safeguard.c) ----------------------------------------- */

/* With lock held: ask. payload (taken) is the event's, without what all events
 * have. Returns IC_PARKED. */
int safeguard_ask_locked(struct ic *ic, enum safeguard_rule rule,
                         json_t *payload);

/* ---- for steps ----------------------------------------------------------- */

/* The denied step that is not closed yet, or 0. */
int64_t safeguard_denied_step(struct ic *ic);

/* No denied step waits to be closed: else ERROR_STEP_ACTIVE. */
gboolean safeguard_check_none(struct ic *ic, GError **error);

/* No decision is pending: else ERROR_BUSY. */
gboolean safeguard_check_decided(struct ic *ic, GError **error);

/* With the gate write-locked: a pending decision is denied, because the step
 * is to be taken back anyway. */
void safeguard_abandon_locked(struct ic *ic);

/* With the gate write-locked: close the denied step. ret_info (may be NULL):
 * what was taken back. FALSE and error if it could not be; it is closed all
 * the same. */
gboolean safeguard_close_denied_locked(struct ic *ic,
                                       struct ic_step_info **ret_info,
                                       GError **error);

/* For the control protocol: payload of the pending decision's event, new, or
 * JSON null. */
json_t *safeguard_pending_to_json(struct ic *ic);

#endif
