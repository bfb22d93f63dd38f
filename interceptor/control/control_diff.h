/* SPDX-License-Identifier: Apache-2.0
 *
 * control_diff - the control protocol's request "diff", carried out.
 */
#ifndef INTERCEPTOR_CONTROL_CONTROL_DIFF_H
#define INTERCEPTOR_CONTROL_CONTROL_DIFF_H

#include <jansson.h>

#include "interceptor/interceptor.h"

/* A new answer, or NULL and error. */
json_t *control_diff(struct ic *ic, json_t *payload, GError **error);

#endif
