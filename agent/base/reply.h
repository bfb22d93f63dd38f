/* SPDX-License-Identifier: Apache-2.0
 *
 * reply - the answer to a session operation.
 */
#ifndef AGENT_BASE_REPLY_H
#define AGENT_BASE_REPLY_H

#include <glib.h>

#include "agent/base/port_spec.h"
#include "agent/base/relayed.h"
#include "agent/base/undo_result.h"
#include "common/errors.h"

struct approval;
struct copy_started;
struct exec_exit;
struct folder_status;
struct session_directory;
struct step_patch;

/* The content of an answer; each member may be NULL. */
struct answer {
    struct step_report *report;
    struct undo_result *result;
    gint64 step_id;               /* of a failed command, or 0 */
    const struct exec_exit *exit; /* session_party.h: of an execution */
    const struct port_spec *port; /* that was published or removed */
    const struct session_directory *directory; /* that was added or removed */
    const struct copy_started *copy;           /* session_copy.h */
    const struct folder_status *status;        /* session_events.h */
    struct step_patch *patch;                  /* step_patch.h */
    const struct approval *approval;           /* session_approval.h */
    struct json_t *relayed; /* an undo engine's payload, unchanged */
};

/* All arguments are borrowed. answer may be NULL; with an error it says how far
 * the operation got. */
typedef void (*reply_done)(const struct answer *answer, const GError *error,
                           void *opaque);

struct reply {
    reply_done done; /* NULL: no caller waits */
    void *opaque;
};

/* Send the answer to the waiting caller, if any. Called once. */
void reply_send(struct reply *reply, const struct answer *answer,
                const GError *error);

/* Report an error (taken) from the main loop, never before this returns. */
void reply_post_error(reply_done done, void *opaque, GError *error);
void reply_post_refusal(reply_done done, void *opaque, enum error_code code,
                        const char *text);

#endif
