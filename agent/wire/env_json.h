/* SPDX-License-Identifier: Apache-2.0
 *
 * env_json - variables of an environment as an object, {"NAME": value}; a value
 * that is not UTF-8 is {"value": base64, "encoding": "base64"}.
 */
#ifndef AGENT_WIRE_ENV_JSON_H
#define AGENT_WIRE_ENV_JSON_H

#include <glib.h>
#include <jansson.h>

/* Read the member "env" of a payload as a list NAME=VALUE: a new one, or NULL
 * if the member is missing. Fails with ERROR_INVALID_FIELD. */
gboolean env_from_json(json_t *payload, char ***ret_env, GError **error);

/* The inverse; env may be NULL. Returns a new object. */
json_t *env_to_json(char *const *env);

/* Return a string as a JSON value: itself, or an object with its bytes. */
json_t *env_value_to_json(const char *bytes);

#endif
