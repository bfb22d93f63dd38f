/* SPDX-License-Identifier: Apache-2.0
 *
 * session_port - published ports, for the files that implement session.h.
 */
#ifndef AGENT_SESSION_SESSION_PORT_H
#define AGENT_SESSION_SESSION_PORT_H

#include "agent/session/session_core.h"

/* Keep the machine's published ports in the configuration, for a reset. */
void session_port_keep(struct session *session);

#endif
