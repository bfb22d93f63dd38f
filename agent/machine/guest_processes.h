/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_processes - ask the shim for the executions of processes
 * (WIRE_FIND_PROCESSES in shim/wire.h).
 */
#ifndef AGENT_MACHINE_GUEST_PROCESSES_H
#define AGENT_MACHINE_GUEST_PROCESSES_H

#include <glib.h>
#include <jansson.h>

#include "shim/wire.h"

/* The answer: an execution for each process of the question, in order. */
struct guest_processes {
    gint64 request;
    gint64 executions[WIRE_FIND_MAX]; /* 0: unknown */
    size_t n;                         /* at most as many as were asked for */
};

/* pids: of guint32. Returns a new reference. */
json_t *guest_processes_question(gint64 request, const GArray *pids);

/* Parse an answer of the guest. */
gboolean guest_processes_parse(json_t *message,
                               struct guest_processes *ret_processes,
                               GError **error);

#endif
