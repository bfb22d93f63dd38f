/* SPDX-License-Identifier: Apache-2.0
 *
 * control_ops - the control protocol's requests, carried out.
 */
#ifndef INTERCEPTOR_CONTROL_CONTROL_OPS_H
#define INTERCEPTOR_CONTROL_CONTROL_OPS_H

#include <jansson.h>

#include "interceptor/interceptor.h"

/* Carry a request (borrowed) out and return the response, new. May take as
 * long as what is asked for; runs in a thread of the control server's pool. */
json_t *control_ops_carry_out(struct ic *ic, json_t *request);

#endif
