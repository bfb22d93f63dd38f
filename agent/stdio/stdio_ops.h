/* SPDX-License-Identifier: Apache-2.0
 *
 * stdio_ops - the operations of the STDIO API: from payloads to the session.
 */
#ifndef AGENT_STDIO_STDIO_OPS_H
#define AGENT_STDIO_STDIO_OPS_H

#include <glib.h>
#include <jansson.h>

#include "agent/base/reply.h"
#include "agent/session/session.h"

#define STDIO_API_PROTOCOL_VERSION 1

/* Carry out the operation called type; payload (borrowed) is an object or NULL.
 * TRUE: done is called once, now or later. FALSE and error: it was refused
 * (ERROR_UNKNOWN_OPERATION: the text names those that are known), and done is
 * not called. */
gboolean stdio_ops_carry_out(struct session *session, const char *type,
                             json_t *payload, reply_done done, void *opaque,
                             GError **error);

#endif
