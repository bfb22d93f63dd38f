/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch - the host's messages, each to its handler.
 */
#ifndef SHIM_DISPATCH_H
#define SHIM_DISPATCH_H

#include <stdbool.h>

#include "shim/executions.h"
#include "shim/guest.h"
#include "shim/json_reader.h"
#include "shim/port.h"
#include "shim/shares.h"

struct dispatch {
    struct port *port; /* borrowed, like the next three */
    struct executions *executions;
    struct guest_mounts *mounts;
    struct shares *shares;
    struct guest_boot boot;
    bool is_init;  /* the machine is ours */
    bool shutdown; /* the host asked for it */
    struct json_reader reader;
};

/* What a message is, for its handler. */
struct dispatch_message {
    const struct json_value *object;
    int64_t now_ms;
};

/* Queue an error; the id is added if the message has one. */
void dispatch_error(struct dispatch *dispatch, const struct json_value *object,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Handle all complete lines, as long as answers can be queued. */
void dispatch_lines(struct dispatch *dispatch, int64_t now_ms);

/* The fd of a shares_poll() entry had an event: tell the host what it means.
 * There must be room for an answer. */
void dispatch_share_news(struct dispatch *dispatch, int fd);

/* Queue the hello. */
void dispatch_send_hello(struct dispatch *dispatch);

#endif
