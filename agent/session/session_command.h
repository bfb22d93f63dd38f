/* SPDX-License-Identifier: Apache-2.0
 *
 * session_command - the running command.
 */
#ifndef AGENT_SESSION_SESSION_COMMAND_H
#define AGENT_SESSION_SESSION_COMMAND_H

#include "agent/session/session_core.h"

/* Callbacks of machine_callbacks for the guest's messages about commands;
 * opaque is the session. */
void session_on_output(const struct command_output *output, void *opaque);
void session_on_completed(gint64 id, const struct command_end *end,
                          void *opaque);
void session_on_input_taken(gint64 id, size_t bytes, void *opaque);
void session_on_refused(gint64 id, const char *message, void *opaque);

#endif
