/* SPDX-License-Identifier: Apache-2.0
 *
 * json_time - times as the protocols have them.
 */
#ifndef INTERCEPTOR_LOG_JSON_TIME_H
#define INTERCEPTOR_LOG_JSON_TIME_H

#include <jansson.h>
#include <stdint.h>

/* Microseconds since the epoch as RFC 3339, UTC. A new reference. */
json_t *json_time_from_us(int64_t us);

#endif
