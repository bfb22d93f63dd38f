/* SPDX-License-Identifier: Apache-2.0
 *
 * session_daemon - what a folder's daemon says.
 */
#ifndef AGENT_SESSION_SESSION_DAEMON_H
#define AGENT_SESSION_SESSION_DAEMON_H

#include "agent/session/session_core.h"

/* For machine_callbacks, with the session as opaque: what a folder's daemon
 * says. */
void session_on_folder_event(unsigned index, const char *type, json_t *payload,
                             void *opaque);

#endif
