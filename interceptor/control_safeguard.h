/* SPDX-License-Identifier: Apache-2.0
 *
 * control_safeguard - the control protocol's requests about safeguards.
 *
 * safeguard.configure: members that are missing keep their value, null switches
 * a rule off (0 for the default timeout); the answer is what holds now.
 */
#ifndef INTERCEPTOR_CONTROL_SAFEGUARD_H
#define INTERCEPTOR_CONTROL_SAFEGUARD_H

#include <jansson.h>

#include "interceptor/interceptor.h"

/* Each: payload (borrowed, may be NULL); a new answer, or NULL and error. */
json_t *control_safeguard_configure(struct ic *ic, json_t *payload,
                                    GError **error);
json_t *control_safeguard_confirm(struct ic *ic, json_t *payload,
                                  GError **error);

#endif
