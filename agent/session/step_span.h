/* SPDX-License-Identifier: Apache-2.0
 *
 * step_span - one step in the undo logs of several folders.
 *
 * It is opened in all of them, or in none; and closed in all.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_STEP_SPAN_H
#define AGENT_SESSION_STEP_SPAN_H

#include <glib.h>
#include <stdbool.h>

#include "agent/base/undo_result.h"
#include "agent/client/control_link.h"
#include "agent/vm/session_directory.h"

/* The logs that keep steps. */
struct step_logs {
    struct control_link *links[SESSION_MAX_DIRECTORIES];
    const char *labels[SESSION_MAX_DIRECTORIES];
    unsigned count; /* may be 0 */
};

struct step_span;

/* The answer; all borrowed. Of an open, report is NULL. Called from the main
 * loop, once, unless the span was freed. */
typedef void (*step_span_done)(struct step_report *report, const GError *error,
                               void *opaque);

/* The logs' links and labels must live as long as the span. */
struct step_span *step_span_new(gint64 step_id, const struct step_logs *logs);

/* What is under way goes on; its done is not called. NULL is allowed. */
void step_span_free(struct step_span *span);

void step_span_open(struct step_span *span, const char *command,
                    step_span_done done, void *opaque);

/* Close it everywhere; the report is the merged one (step_merge.h), or NULL if
 * no log keeps steps. settled: no late change of the step's own is to come, so
 * changes by others do not prolong it. */
void step_span_close(struct step_span *span, int exit_code, bool settled,
                     step_span_done done, void *opaque);

/* A safeguard has denied it in one of the folders, where it is taken back: when
 * it is closed it is taken back in the others as well. */
void step_span_deny(struct step_span *span, struct control_link *where);

#endif
