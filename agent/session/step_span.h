/* SPDX-License-Identifier: Apache-2.0
 *
 * step_span - one step across the undo logs of several folders.
 *
 * The step is opened in all logs or in none, and closed in all.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_STEP_SPAN_H
#define AGENT_SESSION_STEP_SPAN_H

#include <glib.h>
#include <stdbool.h>

#include "agent/base/undo_result.h"
#include "agent/client/control_link.h"
#include "agent/machine/session_directory.h"

/* The logs that record steps. */
struct step_logs {
    struct control_link *links[SESSION_MAX_DIRECTORIES];
    const char *labels[SESSION_MAX_DIRECTORIES];
    unsigned count; /* may be 0 */
};

struct step_span;

/* The answer; all borrowed. For an open, report is NULL. Called once from the
 * main loop, unless the span was freed. */
typedef void (*step_span_done)(struct step_report *report, const GError *error,
                               void *opaque);

/* The links and labels of the logs must outlive the span. */
struct step_span *step_span_new(gint64 step_id, const struct step_logs *logs);

/* Free the span. Pending requests continue; their done is not called. NULL is
 * allowed. */
void step_span_free(struct step_span *span);

void step_span_open(struct step_span *span, const char *command,
                    step_span_done done, void *opaque);

/* The processes of a step that may still change a folder at its end. */
enum step_rest {
    STEP_PROCESSES,  /* some may be left: wait until they make no changes */
    STEP_BACKGROUND, /* the same, but a prompt waits for the end */
    STEP_ALONE,      /* none: changes by other processes do not prolong it */
};

/* Close the step in all logs. The report is the merged one (step_merge.h), or
 * NULL if no log records steps. */
void step_span_close(struct step_span *span, int exit_code, enum step_rest rest,
                     step_span_done done, void *opaque);

/* The answer to a join. Called once, also if the span was freed. */
typedef void (*step_span_joined)(const GError *error, void *opaque);

/* Open the step in one more log, too, which the close then includes. step_id:
 * its id there, another one if the log has used that of the step. Return false,
 * without a call of done, if the step is being closed or the log has it. */
bool step_span_join(struct step_span *span, gint64 step_id, const char *command,
                    struct control_link *link, const char *label,
                    step_span_joined done, void *opaque);

/* Return whether the step has this id in one of its logs. */
bool step_span_has(const struct step_span *span, gint64 step_id);

/* A safeguard has denied the step in one folder and rolled it back there; the
 * close then rolls it back in the other folders as well. */
void step_span_deny(struct step_span *span, struct control_link *where);

#endif
