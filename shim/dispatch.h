/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch - the host's messages, each to its handler.
 */
#ifndef SHIM_DISPATCH_H
#define SHIM_DISPATCH_H

#include "shim/dispatch_base.h"

/* Handle all complete lines, as long as answers can be queued. */
void dispatch_lines(struct dispatch *dispatch, int64_t now_ms);

/* The fd of a shares_poll() entry had an event: tell the host what it means.
 * There must be room for an answer. */
void dispatch_share_news(struct dispatch *dispatch, int fd);

/* Queue the hello. */
void dispatch_send_hello(struct dispatch *dispatch);

#endif
