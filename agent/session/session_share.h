/* SPDX-License-Identifier: Apache-2.0
 *
 * session_share - add a folder to a running session while a step is open.
 */
#ifndef AGENT_SESSION_SESSION_SHARE_H
#define AGENT_SESSION_SESSION_SHARE_H

#include "agent/session/session.h"

/* Return whether nothing keeps a folder from being added. An open step does
 * not. */
bool session_folder_can_attach(const struct session *session);

/* If so: add a folder as session_folder_add(). The open step then has the
 * folder, too. */
void session_folder_attach(struct session *session,
                           const struct session_share *share, reply_done done,
                           void *opaque);

#endif
