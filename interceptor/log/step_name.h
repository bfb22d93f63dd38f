/* SPDX-License-Identifier: Apache-2.0
 *
 * step_name - names in a step's record.
 */
#ifndef INTERCEPTOR_LOG_STEP_NAME_H
#define INTERCEPTOR_LOG_STEP_NAME_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* Return whether the name can stand in quotes as it is. Nearly all can. */
bool step_name_is_plain(const char *name);

/* The name as a JSON string with its quotes, new. *ret_key: "n" or "n64". */
char *step_name_quote(const char *name, const char **ret_key);

/* A name as the members "n" or "n64" of a record's text, and back: a new
 * string, or NULL if it is none that a directory can hold. */
void step_name_append(GString *text, const char *name);
char *step_name_from_record(json_t *record);

#endif
