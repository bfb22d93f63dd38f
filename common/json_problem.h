/* SPDX-License-Identifier: Apache-2.0
 *
 * json_problem - explains to the sender why a line was rejected as JSON.
 *
 * Some rejected lines are valid JSON: NUL characters, unpaired surrogates,
 * duplicate members and large numbers are not accepted here.
 */
#ifndef COMMON_JSON_PROBLEM_H
#define COMMON_JSON_PROBLEM_H

#include <jansson.h>

/* Describe an error of json_loadb() as a clause. Return a new string. */
char *json_problem_tell(const json_error_t *error);

#endif
