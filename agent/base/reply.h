/* SPDX-License-Identifier: Apache-2.0
 *
 * reply - who waits for the answer to an operation.
 */
#ifndef AGENT_BASE_REPLY_H
#define AGENT_BASE_REPLY_H

#include <glib.h>
#include <jansson.h>

#include "common/errors.h"

/* The answer; all borrowed. If error is set, payload is NULL and data, if not
 * NULL, says more. */
typedef void (*reply_done)(json_t *payload, const GError *error, json_t *data,
                           void *opaque);

struct reply {
    reply_done done; /* NULL: nobody waits */
    void *opaque;
};

/* Answer, if somebody waits; once. */
void reply_send(struct reply *reply, json_t *payload, const GError *error,
                json_t *data);

/* Answer with an error (taken) from the main loop, not before this returns. */
void reply_post_error(reply_done done, void *opaque, GError *error);
void reply_post_refusal(reply_done done, void *opaque, enum error_code code,
                        const char *text);

#endif
