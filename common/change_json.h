/* SPDX-License-Identifier: Apache-2.0
 *
 * change_json - members that a change has in the undo log, in the control
 * protocol and in the frontends' APIs alike.
 */
#ifndef COMMON_CHANGE_JSON_H
#define COMMON_CHANGE_JSON_H

#include <jansson.h>
#include <stdint.h>

#define CHANGE_NAMES 5

/* The values of "change", in the order of enum ic_change_type. */
extern const char *const change_names[CHANGE_NAMES];

/* Set the executions that made a change: "by" is the first one, "also_by" has
 * the others. 0, an unknown one, is "?". */
void change_json_set_by(json_t *object, const int64_t *by, unsigned n);

/* Get at most max of them. Return how many. Anything but a positive number is
 * an unknown one. */
unsigned change_json_get_by(json_t *object, int64_t *by, unsigned max);

#endif
