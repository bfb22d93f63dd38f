/* SPDX-License-Identifier: Apache-2.0
 *
 * control_safeguard - requests of the control protocol about safeguards.
 *
 * safeguard.configure {delete_threshold, overwrite_file_size_threshold,
 * rename_over_existing, timeout_seconds}: missing members keep their value,
 * null switches a rule off (for the timeout: restores the default). The answer
 * has the values now in force.
 *
 * event.safeguard_triggered {safeguard_id, step_id, kind, sample_paths,
 * message, timeout_seconds} and, by kind,
 *   "delete"                {delete_count, threshold}: includes the one held
 *   "overwrite"             {path, file_size, threshold, from?}: from: a rename
 *   "rename_over_existing"  {path, from, file_size}
 * A path that is not UTF-8 is in base64, as in reports. status reports the
 * pending one as pending_safeguard, for clients that connect later.
 *
 * safeguard.confirm {safeguard_id, action}: "allow" or "deny"; a denial is
 * answered once the step is rolled back. Waiting changes fail before that, so
 * the command may end meanwhile. step.close then returns aborted:true,
 * reason:"denied"; until it (or step.abort) comes, all changes fail.
 *
 * event.safeguard_decided {safeguard_id, step_id, action, reason}: reason is
 * "confirmed", "timeout" or "aborted" (by step.abort).
 */
#ifndef INTERCEPTOR_CONTROL_CONTROL_SAFEGUARD_H
#define INTERCEPTOR_CONTROL_CONTROL_SAFEGUARD_H

#include <jansson.h>

#include "interceptor/interceptor.h"

/* payload (borrowed) may be NULL. Each returns a new answer, or NULL and error.
 */
json_t *control_safeguard_configure(struct ic *ic, json_t *payload,
                                    GError **error);
json_t *control_safeguard_confirm(struct ic *ic, json_t *payload,
                                  GError **error);

#endif
