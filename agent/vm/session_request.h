/* SPDX-License-Identifier: Apache-2.0
 *
 * session_request - what session.start asks for, checked.
 */
#ifndef AGENT_VM_SESSION_REQUEST_H
#define AGENT_VM_SESSION_REQUEST_H

#include "agent/vm/session_config.h"

/* Read a payload (borrowed). NULL and error: ERROR_MISSING_FIELD,
 * ERROR_INVALID_FIELD, ERROR_TOO_MANY_DIRECTORIES, ERROR_INVALID_DIRECTORY.
 */
struct session_config *session_request_parse(json_t *payload, GError **error);

#endif
