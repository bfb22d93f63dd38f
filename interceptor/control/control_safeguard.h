/* SPDX-License-Identifier: Apache-2.0
 *
 * control_safeguard - the control protocol's requests about safeguards.
 *
 * safeguard.configure {delete_threshold, overwrite_file_size_threshold,
 * rename_over_existing, timeout_seconds}: members that are missing keep their
 * value, null switches a rule off (for the timeout: the default). The answer is
 * what holds now.
 *
 * event.safeguard_triggered {safeguard_id, step_id, kind, sample_paths,
 * message, timeout_seconds} and, by kind,
 *   "delete"                {delete_count, threshold}: with the one held
 *   "overwrite"             {path, file_size, threshold, from?}: from: a rename
 *   "rename_over_existing"  {path, from, file_size}
 * A path that is not UTF-8 is in base64, as in reports. status tells the
 * pending one as pending_safeguard, for who was not there when it was sent.
 *
 * safeguard.confirm {safeguard_id, action}: "allow" or "deny"; after a denial
 * it is answered when the step has been taken back. What waits fails before
 * that, so the command may end meanwhile. step.close then says aborted:true,
 * reason:"denied"; until it (or step.abort) comes, all changes fail.
 *
 * event.safeguard_decided {safeguard_id, step_id, action, reason}: reason is
 * "confirmed", "timeout" or "aborted" (by step.abort).
 */
#ifndef INTERCEPTOR_CONTROL_CONTROL_SAFEGUARD_H
#define INTERCEPTOR_CONTROL_CONTROL_SAFEGUARD_H

#include <jansson.h>

#include "interceptor/interceptor.h"

/* Each: payload (borrowed, may be NULL); a new answer, or NULL and error. */
json_t *control_safeguard_configure(struct ic *ic, json_t *payload,
                                    GError **error);
json_t *control_safeguard_confirm(struct ic *ic, json_t *payload,
                                  GError **error);

#endif
