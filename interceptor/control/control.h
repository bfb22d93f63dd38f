/* SPDX-License-Identifier: Apache-2.0
 *
 * control - the control protocol: how the agent tells the engine of steps.
 *
 * JSON Lines in the shapes of common/message.h. Requests: step.open,
 * step.close, step.abort, rollback, history, configure, discard, write_file,
 * status,
 * safeguard.configure, safeguard.confirm. One thread serves all clients. A
 * request that waits (step.close for quiet) runs in a thread of its own; each
 * client's requests are answered in order. Only safeguard.confirm overtakes the
 * others: one of them may wait for it.
 *
 * The peer is another process of the same user (the socket is 0600), which is
 * no reason to trust what it sends.
 */
#ifndef INTERCEPTOR_CONTROL_CONTROL_H
#define INTERCEPTOR_CONTROL_CONTROL_H

#include "interceptor/interceptor.h"

struct control;

/* Close all connections and end the thread. NULL is allowed. */
void control_free(struct control *control);

#endif
