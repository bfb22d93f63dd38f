/* SPDX-License-Identifier: Apache-2.0
 *
 * stdio_ops - the operations of the STDIO API: call the session with parsed
 * payloads.
 */
#ifndef AGENT_STDIO_STDIO_OPS_H
#define AGENT_STDIO_STDIO_OPS_H

#include <glib.h>
#include <jansson.h>

#include "agent/base/reply.h"
#include "agent/session/session.h"
#include "agent/stdio/stdio_call.h"

#define STDIO_API_PROTOCOL_VERSION 1

/* The operations of hello that the client's own code carries out. */
#define STDIO_OPS_OF_CLIENTS "events.subscribe", "sandbox.info"

/* stdio_ops_done is the answer; all borrowed. If error is set, payload is NULL
 * and data, if not NULL, has details.
 *
 * Carry out the operation "type" for a client (borrowed until
 * session_exec_leave()); payload (borrowed) is an object or NULL.
 * TRUE: done is called once, now or later. FALSE and error: refused, done is
 * not called (ERROR_UNKNOWN_OPERATION: the text lists the known operations). */
gboolean stdio_ops_carry_out(struct session *session,
                             const struct session_party *party,
                             const char *type, json_t *payload,
                             stdio_ops_done done, void *opaque, GError **error);

#endif
