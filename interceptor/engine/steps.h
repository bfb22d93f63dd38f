/* SPDX-License-Identifier: Apache-2.0
 *
 * steps - opening and committing.
 */
#ifndef INTERCEPTOR_ENGINE_STEPS_H
#define INTERCEPTOR_ENGINE_STEPS_H

#include "interceptor/engine/engine.h"

/* With the gate write-locked, or read-locked and names held: begin a step. 0
 * or -errno. */
int steps_begin(struct ic *ic, int64_t id, enum ic_step_type type,
                const char *command);

/* The process ends: commit an open ambient step. A step of another kind stays
 * in wal/in_progress: nobody has said that it is complete. */
void steps_close_at_exit(struct ic *ic);

/* With the gate write-locked: commit the open step. ret_info may be NULL. */
gboolean steps_commit_locked(struct ic *ic, int exit_code,
                             struct ic_step_info **ret_info, GError **error);

/* With the gate write-locked: if the open step is unprotected, drop what it had
 * kept until then. True if there was something. */
bool steps_drop_kept_locked(struct ic *ic);

/* The greatest id ever used. With the gate locked. */
int64_t steps_last_id(struct ic *ic);

/* Is there a log; is step id the open one; is none but an ambient one open; is
 * nothing in wal/in_progress to be finished? FALSE and error if not. With the
 * gate locked. */
gboolean steps_check_log(struct ic *ic, GError **error);
gboolean steps_check_open(struct ic *ic, int64_t id, GError **error);
gboolean steps_check_none(struct ic *ic, GError **error);
gboolean steps_check_finished(struct ic *ic, GError **error);

/* FALSE, and "what: what errno -rc means" as the error. */
gboolean steps_fail(GError **error, int code, const char *what, int rc);

#endif
