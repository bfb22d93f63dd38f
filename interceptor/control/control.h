/* SPDX-License-Identifier: Apache-2.0
 *
 * control - the control protocol: requests of the supervisor to the engine.
 *
 * JSON Lines in the format of common/message.h; the requests are in
 * doc/control-protocol.md and control_ops.c. One thread serves all clients. A
 * request that waits (step.close, for quiet) runs in a thread of its own; each
 * client's requests are answered in order. Only safeguard.confirm and
 * writers.name overtake the others, since a step.close waits for both.
 *
 * The peer is another process of the same user (the socket has mode 0600); its
 * input is not trusted nevertheless.
 */
#ifndef INTERCEPTOR_CONTROL_CONTROL_H
#define INTERCEPTOR_CONTROL_CONTROL_H

#include "interceptor/interceptor.h"

struct control;

/* Close all connections and end the thread. NULL is allowed. */
void control_free(struct control *control);

#endif
