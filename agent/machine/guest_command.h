/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_command - a command as the shim's message "exec" (shim/wire.h).
 */
#ifndef AGENT_MACHINE_GUEST_COMMAND_H
#define AGENT_MACHINE_GUEST_COMMAND_H

#include <glib.h>
#include <jansson.h>
#include <stddef.h>

#include "agent/base/command.h"

/* The abilities of a shim, from its hello. */
struct guest_abilities {
    gint64 takes_input, takes_bytes, reports_ports; /* 0 or 1 */
    gint64 steps;                                   /* 0 or 1: step_request */
    gint64 finds_processes;                         /* 0 or 1 */
    gint64 setup;                                   /* 0 or 1 */
    gint64 renews;                                  /* 0 or 1 */
    gint64 refreshes;                               /* 0 or 1 */
    gint64 executions; /* how many may run at a time */
};

/* Encode a command. window: how many bytes of output may come without further
 * credit. Returns a new reference. */
json_t *guest_command_to_json(gint64 id, const struct command *command,
                              size_t window);

/* Return what the command requires and the shim does not support ("to ..."), a
 * static string, or NULL. */
const char *guest_command_lacks(const struct guest_abilities *abilities,
                                const struct command *command);

#endif
