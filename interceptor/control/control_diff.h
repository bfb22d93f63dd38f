/* SPDX-License-Identifier: Apache-2.0
 *
 * control_diff - the request "diff" of the control protocol.
 */
#ifndef INTERCEPTOR_CONTROL_CONTROL_DIFF_H
#define INTERCEPTOR_CONTROL_CONTROL_DIFF_H

#include <jansson.h>

#include "interceptor/interceptor.h"

/* Return a new answer, or NULL and error. */
json_t *control_diff(struct ic *ic, json_t *payload, GError **error);

#endif
