/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_audit - writes the record of a sandbox (audit_file.h): its start and
 * end, executions, steps, undo and redo, requests and their decisions, warnings
 * and errors; and in a part of its own the connections and requests of its
 * network (network_records.h). It has no contents of files, no output, and no
 * environment.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SANDBOX_SANDBOX_AUDIT_H
#define AGENT_SANDBOX_SANDBOX_AUDIT_H

#include <glib.h>

#include "agent/session/session.h"

struct sandbox_audit;

/* Listen to the session, which must outlive the object. */
struct sandbox_audit *sandbox_audit_new(const char *sandbox,
                                        struct session *session);
void sandbox_audit_free(struct sandbox_audit *audit);

/* The session runs. */
void sandbox_audit_start(struct sandbox_audit *audit);

/* The sandbox has ended: reason is a word; message may be NULL. */
void sandbox_audit_end(struct sandbox_audit *audit, const char *reason,
                       const char *message);

#endif
