/* SPDX-License-Identifier: Apache-2.0
 *
 * session_writers - tell the folders' engines which execution a process of the
 * guest belongs to (`by` in reports).
 *
 * An engine asks with event.writers; the shim knows the answer
 * (find_processes). The guest can lie, so its answer is a label and no more: an
 * execution that this session has not started counts as unknown.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_SESSION_WRITERS_H
#define AGENT_SESSION_SESSION_WRITERS_H

#include "agent/session/session_core.h"

/* Let the engine of this folder ask. */
void session_writers_follow(struct session *session, unsigned index);

/* event.writers of a folder; payload is borrowed. */
void session_writers_ask(struct session *session, unsigned index,
                         json_t *payload);

/* Implements machine_callbacks.processes. */
void session_on_processes(const struct guest_processes *processes,
                          void *opaque);

/* The machine is gone. */
void session_writers_clear(struct session *session);

#endif
