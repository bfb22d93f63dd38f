/* SPDX-License-Identifier: Apache-2.0
 *
 * reply - the answer to an operation of a session.
 */
#ifndef AGENT_BASE_REPLY_H
#define AGENT_BASE_REPLY_H

#include <glib.h>
#include <jansson.h>

#include "agent/base/undo_result.h"
#include "common/errors.h"

/* What an operation has to say; each member may be NULL. */
struct answer {
    struct step_report *report;
    struct undo_result *result;
    gint64 step_id;  /* of a command that failed, or 0 */
    json_t *relayed; /* an undo engine's payload, as it is */
};

/* All borrowed. answer may be NULL; with an error it is how far the operation
 * got. */
typedef void (*reply_done)(const struct answer *answer, const GError *error,
                           void *opaque);

struct reply {
    reply_done done; /* NULL: no caller waits */
    void *opaque;
};

/* Answer, if a caller waits; once. */
void reply_send(struct reply *reply, const struct answer *answer,
                const GError *error);

/* Answer with an error (taken) from the main loop, not before this returns. */
void reply_post_error(reply_done done, void *opaque, GError *error);
void reply_post_refusal(reply_done done, void *opaque, enum error_code code,
                        const char *text);

#endif
