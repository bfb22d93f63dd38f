/* SPDX-License-Identifier: Apache-2.0
 *
 * session_patch - the end of a session, for the patches that are being made;
 * session.h has session_patch().
 */
#ifndef AGENT_SESSION_SESSION_PATCH_H
#define AGENT_SESSION_SESSION_PATCH_H

#include "agent/session/session_core.h"

/* Answer all waiting callers with this error (borrowed). */
void session_patch_abandon(struct session *session, const GError *error);

#endif
