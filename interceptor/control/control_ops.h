/* SPDX-License-Identifier: Apache-2.0
 *
 * control_ops - carry out the requests of the control protocol.
 */
#ifndef INTERCEPTOR_CONTROL_CONTROL_OPS_H
#define INTERCEPTOR_CONTROL_CONTROL_OPS_H

#include <jansson.h>

#include "interceptor/interceptor.h"

/* Carry out a request (borrowed) and return the response, new. May block as
 * long as the request takes; runs in a thread of the control server's pool. */
json_t *control_ops_carry_out(struct ic *ic, json_t *request);

#endif
