/* SPDX-License-Identifier: Apache-2.0
 *
 * session_status - what a session says of itself.
 */
#ifndef AGENT_SESSION_SESSION_STATUS_H
#define AGENT_SESSION_SESSION_STATUS_H

#include "agent/session/session_core.h"

/* The answer to session_start(). A new reference. */
json_t *session_describe(const struct session *session);

#endif
