/* SPDX-License-Identifier: Apache-2.0
 *
 * session_daemon - handle the events of a folder's daemon.
 */
#ifndef AGENT_SESSION_SESSION_DAEMON_H
#define AGENT_SESSION_SESSION_DAEMON_H

#include "agent/session/session_core.h"

/* Implements folder_event of machine_callbacks; opaque is the session. */
void session_on_folder_event(unsigned index, const char *type,
                             struct json_t *payload, void *opaque);

#endif
