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

#define STDIO_API_PROTOCOL_VERSION 1

/* The answer; all borrowed. If error is set, payload is NULL and data, if not
 * NULL, has details. */
typedef void (*stdio_ops_done)(json_t *payload, const GError *error,
                               json_t *data, void *opaque);

/* The operations of hello that the client's own code carries out. */
#define STDIO_OPS_OF_CLIENTS "events.subscribe", "sandbox.info"

/* Carry out the operation "type"; owner identifies the client (command.h);
 * payload (borrowed) is an object or NULL.
 * TRUE: done is called once, now or later. FALSE and error: refused, done is
 * not called (ERROR_UNKNOWN_OPERATION: the text lists the known operations). */
gboolean stdio_ops_carry_out(struct session *session, const void *owner,
                             const char *type, json_t *payload,
                             stdio_ops_done done, void *opaque, GError **error);

#endif
