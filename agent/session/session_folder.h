/* SPDX-License-Identifier: Apache-2.0
 *
 * session_folder - what is asked of one folder.
 */
#ifndef AGENT_SESSION_SESSION_FOLDER_H
#define AGENT_SESSION_SESSION_FOLDER_H

#include "agent/session/session_core.h"

/* A step has ended: send its report (taken) to all listeners, and warnings
 * about the names that it made. */
void session_tell_step(struct session *session, struct step_report *report);

/* The folder that a field "directory" means, of a session that runs. */
gboolean session_find_folder(struct session *session,
                             struct folder_ref directory, unsigned *ret_index,
                             GError **error);
struct control_link *session_folder_link(struct session *session,
                                         unsigned index);

#endif
