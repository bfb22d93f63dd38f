/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_flow - flow control of one execution's output and standard input.
 *
 * Output: the shim may send GUEST_OUTPUT_WINDOW bytes; credit for as many more
 * as the reader has consumed is granted in large portions. Input: at most
 * WIRE_INPUT_WINDOW bytes are on their way to the guest; the rest waits here,
 * and a request is answered when all its bytes are on their way.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_EXEC_FLOW_H
#define AGENT_SESSION_EXEC_FLOW_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/base/reply.h"
#include "agent/machine/guest_channel.h"

struct exec_flow;

struct exec_flow *exec_flow_new(gint64 exec_id, struct guest_channel *guest);

/* Pending input is answered with ERROR_CANCELLED. NULL is allowed. */
void exec_flow_free(struct exec_flow *flow);

/* Output has arrived. Return false if it exceeds the window: the guest is
 * faulty or hostile, and the output must be ignored. */
bool exec_flow_take(struct exec_flow *flow, size_t len);

/* Output was passed on or dropped. */
void exec_flow_consume(struct exec_flow *flow, size_t len);

/* Queue input (taken; NULL: none), and its end. Fails with ERROR_BUSY while too
 * much is pending, and with ERROR_INVALID_FIELD after the end. On failure done
 * is not called. */
gboolean exec_flow_input(struct exec_flow *flow, GBytes *data, bool eof,
                         reply_done done, void *opaque, GError **error);

/* The command runs now: send what is queued. */
void exec_flow_start(struct exec_flow *flow);

/* The shim reported input as taken. Return false if it exceeds what was
 * sent. */
bool exec_flow_taken(struct exec_flow *flow, size_t bytes);

/* The command has ended: answer what is pending; what follows is dropped, as a
 * pipe without a reader does. */
void exec_flow_end(struct exec_flow *flow);

#endif
