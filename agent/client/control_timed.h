/* SPDX-License-Identifier: Apache-2.0
 *
 * control_timed - a request whose answer must come in time.
 *
 * For a change that must not be lost in silence: the caller ends a process that
 * refuses it, or does not answer.
 *
 * Threads: as of control_link.h.
 */
#ifndef AGENT_CLIENT_CONTROL_TIMED_H
#define AGENT_CLIENT_CONTROL_TIMED_H

#include "agent/client/control_link.h"

/* As control_link_request(). Without an answer after milliseconds, done is
 * called with ERROR_BACKEND_FAILED; a later answer is ignored. */
void control_timed_request(struct control_link *link, const char *type,
                           json_t *payload, unsigned milliseconds,
                           control_link_done done, void *opaque);

#endif
