/* SPDX-License-Identifier: Apache-2.0
 *
 * message - the message formats of the STDIO API and the control protocol.
 *
 *     {"type":T,"request_id":R,"payload":{}}
 *     {"type":"response","request_id":R,"status":"ok","payload":{}}
 *     {"type":"response","request_id":R,"status":"error","error":{"code":
 *      "undo_barrier","number":3001,"message":"...","data":{}}}
 *     {"type":"event.X","payload":{}}
 *
 * All functions return new references. A NULL request_id becomes null.
 */
#ifndef COMMON_MESSAGE_H
#define COMMON_MESSAGE_H

#include <glib.h>
#include <jansson.h>

#include "common/errors.h"

/* payload (taken) may be NULL for {}. */
json_t *message_request(const char *type, const char *request_id,
                        json_t *payload);
json_t *message_event(const char *type, json_t *payload);
json_t *message_response(const char *request_id, json_t *payload);

/* data (taken) may be NULL for {}. */
json_t *message_error(const char *request_id, enum error_code code,
                      const char *text, json_t *data);

/* message_error() from a GError (borrowed). */
json_t *message_gerror(const char *request_id, const GError *error);

/* The same with data (taken; may be NULL). */
json_t *message_gerror_with(const char *request_id, const GError *error,
                            json_t *data);

/* Return the data of an error response: borrowed, or NULL if there is none. */
json_t *message_error_data(json_t *response);

/* Set the GError that an error response stands for, with its stable code in
 * STEPBACK_ERROR, and return true. Return false, with error unset, if its
 * status is ok. */
gboolean message_is_error(json_t *response, GError **error);

/* Read a member of a payload. On failure the error is ERROR_MISSING_FIELD or
 * ERROR_INVALID_FIELD with a message that names the field. */
gboolean message_get_string(json_t *payload, const char *key,
                            const char **ret_value, GError **error);
gboolean message_get_int(json_t *payload, const char *key, gint64 min,
                         gint64 max, gint64 *ret_value, GError **error);

/* The same for optional members: if missing, *ret_value is unchanged. */
gboolean message_get_optional_string(json_t *payload, const char *key,
                                     const char **ret_value, GError **error);
gboolean message_get_optional_int(json_t *payload, const char *key, gint64 min,
                                  gint64 max, gint64 *ret_value,
                                  GError **error);
gboolean message_get_optional_bool(json_t *payload, const char *key,
                                   gboolean *ret_value, GError **error);

/* Fail with ERROR_INVALID_FIELD if the object (or NULL) has a member that is
 * not in known, which is NULL-terminated: for requests in which a misspelt
 * member would leave something unprotected. */
gboolean message_check_known(json_t *object, const char *const *known,
                             GError **error);

#endif
