/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch_base - state shared by the message handlers.
 */
#ifndef SHIM_DISPATCH_BASE_H
#define SHIM_DISPATCH_BASE_H

#include <stdbool.h>

#include "shim/bulk.h"
#include "shim/executions.h"
#include "shim/forks.h"
#include "shim/guest.h"
#include "shim/wire_json.h"
#include "shim/listeners.h"
#include "shim/port.h"
#include "shim/shares.h"
#include "shim/step_server.h"

struct dispatch {
    struct port *port; /* borrowed, like the next seven */
    struct executions *executions;
    struct forks *forks;
    struct guest_mounts *mounts;
    struct shares *shares;
    struct listeners *listeners;
    struct step_server *steps;
    struct bulk *bulk;
    struct guest_boot boot;
    void (*root_changed)(void); /* write again what belongs into the root */
    bool is_init;               /* the shim is PID 1 and controls the machine */
    bool clock_is_set;          /* from the host's, since the kernel started */
    bool shutdown;              /* the host has requested it */
};

/* A message, as passed to its handler. */
struct dispatch_message {
    json_t *object;
    int64_t now_ms;
};

/* Queue an error; its id is that of the message, if the message has one. */
void dispatch_error(struct dispatch *dispatch, json_t *object,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
