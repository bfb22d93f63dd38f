/* SPDX-License-Identifier: Apache-2.0
 *
 * stdio_call - one operation that is being carried out, and the tables of
 * operations.
 */
#ifndef AGENT_STDIO_STDIO_CALL_H
#define AGENT_STDIO_STDIO_CALL_H

#include <glib.h>
#include <jansson.h>

#include "agent/base/reply.h"
#include "agent/session/session.h"
#include "agent/session/session_party.h"

/* See stdio_ops.h. */
typedef void (*stdio_ops_done)(json_t *payload, const GError *error,
                               json_t *data, void *opaque);

/* The state needed to answer an operation. */
struct stdio_call {
    struct session *session;
    const struct session_party *party; /* the client */
    stdio_ops_done done;
    void *opaque;
    /* Builds the payload from the session, replacing the answer's own. */
    json_t *(*describe)(struct session *session);
};

enum { STDIO_FIELDS_MAX = 16 };

struct stdio_operation {
    const char *type;
    /* Answer the call now or later and return TRUE, or return FALSE and
     * error. */
    gboolean (*carry_out)(const struct stdio_call *call, json_t *payload,
                          GError **error);
    /* All known fields; empty if there are none. NULL: not checked, because the
     * operation checks them itself or a newer client may send more. */
    const char *fields[STDIO_FIELDS_MAX];
};

/* A table ends with an entry without a type. */
extern const struct stdio_operation stdio_exec_operations[];
extern const struct stdio_operation stdio_folder_operations[];
extern const struct stdio_operation stdio_network_operations[];
extern const struct stdio_operation stdio_port_operations[];
extern const struct stdio_operation stdio_copy_operations[];
extern const struct stdio_operation stdio_approval_operations[];

/* A reply_done for a kept call (taken). */
void stdio_call_on_answer(const struct answer *answer, const GError *error,
                          void *opaque);

/* Allocate the opaque argument of stdio_call_on_answer(). */
void *stdio_call_keep(const struct stdio_call *call);
void *stdio_call_keep_with(const struct stdio_call *call,
                           json_t *(*describe)(struct session *session));

/* Answer at once; payload (taken) may be NULL. */
void stdio_call_answer(const struct stdio_call *call, json_t *payload);

#endif
