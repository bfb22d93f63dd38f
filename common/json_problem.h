/* SPDX-License-Identifier: Apache-2.0
 *
 * json_problem - why a line was not taken as JSON, for whoever sent it.
 *
 * Some of it is JSON all the same: NUL characters, halves of surrogate pairs,
 * members of one name and large numbers are not taken here.
 */
#ifndef COMMON_JSON_PROBLEM_H
#define COMMON_JSON_PROBLEM_H

#include <jansson.h>

/* What json_loadb() has found, as a sentence. A new string. */
char *json_problem_tell(const json_error_t *error);

#endif
