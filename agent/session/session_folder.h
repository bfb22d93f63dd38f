/* SPDX-License-Identifier: Apache-2.0
 *
 * session_folder - requests about one folder.
 */
#ifndef AGENT_SESSION_SESSION_FOLDER_H
#define AGENT_SESSION_SESSION_FOLDER_H

#include "agent/session/session_core.h"

/* A step has ended: send its report (taken) and the warnings about new names to
 * all listeners. */
void session_tell_step(struct session *session, struct step_report *report,
                       const struct command *command);

/* Find the folder that a "directory" field refers to, in a running session. */
gboolean session_find_folder(struct session *session,
                             struct folder_ref directory, unsigned *ret_index,
                             GError **error);
struct control_link *session_folder_link(struct session *session,
                                         unsigned index);

#endif
