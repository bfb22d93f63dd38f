/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_step_text - the answers to requests from the guest about steps, as text
 * of at most WIRE_STEP_TEXT bytes.
 */
#ifndef AGENT_SESSION_GUEST_STEP_TEXT_H
#define AGENT_SESSION_GUEST_STEP_TEXT_H

#include "agent/base/undo_result.h"

/* Append one line about the step: its id, the number of paths, its command. */
void guest_step_text_add(GString *text, const struct step_report *report);

/* Append "undid step 7: make (2 paths)" and a newline. */
void guest_step_text_add_undone(GString *text,
                                const struct step_report *report);

/* Append the paths that the step changed, one a line. */
void guest_step_text_add_changes(GString *text,
                                 const struct step_report *report);

#endif
