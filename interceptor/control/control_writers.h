/* SPDX-License-Identifier: Apache-2.0
 *
 * control_writers - requests about who makes the changes of a step
 * (ic_follow_writers()).
 */
#ifndef INTERCEPTOR_CONTROL_CONTROL_WRITERS_H
#define INTERCEPTOR_CONTROL_CONTROL_WRITERS_H

#include <jansson.h>

#include "interceptor/interceptor.h"

/* Handlers as in control_ops.c. */
json_t *control_writers_follow(struct ic *ic, json_t *payload, GError **error);
json_t *control_writers_name(struct ic *ic, json_t *payload, GError **error);

#endif
