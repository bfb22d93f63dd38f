/* SPDX-License-Identifier: Apache-2.0
 *
 * step_name - names in a step's record.
 */
#ifndef INTERCEPTOR_LOG_STEP_NAME_H
#define INTERCEPTOR_LOG_STEP_NAME_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* Return whether the name can be quoted without escapes. Nearly all can. */
bool step_name_is_plain(const char *name);

/* Return the name as a new JSON string with its quotes. *ret_key: "n" or "n64".
 */
char *step_name_quote(const char *name, const char **ret_key);

/* Append the name as the member "n" or "n64" of a record's text; read it back
 * as a new string, or NULL if it is not a valid file name. */
void step_name_append(GString *text, const char *name);
char *step_name_from_record(json_t *record);

#endif
