/* SPDX-License-Identifier: Apache-2.0
 *
 * json_time - times as the protocols write them.
 */
#ifndef INTERCEPTOR_LOG_JSON_TIME_H
#define INTERCEPTOR_LOG_JSON_TIME_H

#include <jansson.h>
#include <stdint.h>

/* Return microseconds since the epoch as RFC 3339 in UTC. A new reference. */
json_t *json_time_from_us(int64_t us);

#endif
