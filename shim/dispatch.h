/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch - pass the host's messages to their handlers.
 */
#ifndef SHIM_DISPATCH_H
#define SHIM_DISPATCH_H

#include "shim/dispatch_base.h"

/* Handle all complete lines, as long as answers can be queued. */
void dispatch_lines(struct dispatch *dispatch, int64_t now_ms);

/* Handle an event on the fd of a shares_poll() entry by reporting to the host.
 * There must be room for an answer. */
void dispatch_share_news(struct dispatch *dispatch, int fd);

/* Look for listening ports if that is due, and queue the news while there is
 * room. busy: an execution runs. */
void dispatch_listeners(struct dispatch *dispatch, bool busy, int64_t now_ms);

/* Report the end of the bulk process, if there is room. */
void dispatch_bulk_news(struct dispatch *dispatch);

/* Queue the hello. */
void dispatch_send_hello(struct dispatch *dispatch);

#endif
