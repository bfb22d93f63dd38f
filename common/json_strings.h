/* SPDX-License-Identifier: Apache-2.0
 *
 * json_strings - lists of strings in JSON.
 */
#ifndef COMMON_JSON_STRINGS_H
#define COMMON_JSON_STRINGS_H

#include <jansson.h>

/* Return a new list of the strings up to NULL; of none if strings is NULL. They
 * must be UTF-8. */
json_t *json_strings(char *const *strings);

#endif
