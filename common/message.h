/* SPDX-License-Identifier: Apache-2.0
 *
 * message - the three shapes of the STDIO API and the control protocol.
 *
 *     {"type":T,"request_id":R,"payload":{}}
 *     {"type":"response","request_id":R,"status":"ok","payload":{}}
 *     {"type":"response","request_id":R,"status":"error","error":{"code":
 *      "undo_barrier","number":3001,"message":"...","data":{}}}
 *     {"type":"event.X","payload":{}}
 *
 * All functions return new references. NULL request_id becomes null.
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

/* The data of a response that is an error: borrowed, or NULL if there is none.
 */
json_t *message_error_data(json_t *response);

/* Of a response that is an error: the GError it stands for, with its stable
 * code in STEPBACK_ERROR. False (and no error set) if its status is ok. */
gboolean message_is_error(json_t *response, GError **error);

/* Read members of a payload. Each fails with ERROR_MISSING_FIELD or
 * ERROR_INVALID_FIELD and a text that names the field. */
gboolean message_get_string(json_t *payload, const char *key,
                            const char **ret_value, GError **error);
gboolean message_get_int(json_t *payload, const char *key, gint64 min,
                         gint64 max, gint64 *ret_value, GError **error);

/* As above, for members that may be missing: *ret_value keeps its value. */
gboolean message_get_optional_string(json_t *payload, const char *key,
                                     const char **ret_value, GError **error);
gboolean message_get_optional_int(json_t *payload, const char *key, gint64 min,
                                  gint64 max, gint64 *ret_value,
                                  GError **error);
gboolean message_get_optional_bool(json_t *payload, const char *key,
                                   gboolean *ret_value, GError **error);

/* ERROR_INVALID_FIELD if the object (or NULL) has a member that is not in
 * known, which ends with NULL: for requests in which a misspelt member would
 * leave unprotected what it was to protect. */
gboolean message_check_known(json_t *object, const char *const *known,
                             GError **error);

#endif
