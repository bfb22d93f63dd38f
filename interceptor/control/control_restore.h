/* SPDX-License-Identifier: Apache-2.0
 *
 * control_restore - the request "restore" of the control protocol: undo by
 * path.
 */
#ifndef INTERCEPTOR_CONTROL_RESTORE_H
#define INTERCEPTOR_CONTROL_RESTORE_H

#include <jansson.h>

#include "interceptor/interceptor.h"

/* "restore": an extent as of "rollback", "paths", "force", "dry_run", "step_id"
 * (of the new step). The answer and the error's data are those of "rollback";
 * "steps" has the new step, or, in a dry run, the changes it would make. */
json_t *control_restore(struct ic *ic, json_t *payload, json_t **ret_data,
                        GError **error);

#endif
