/* SPDX-License-Identifier: Apache-2.0
 *
 * audit_writer - appends to a part of a sandbox's record (audit_file.h), and
 * reports a record that cannot be written: as a warning of the session
 * (audit_incomplete), and as a number in the next one that is written
 * (missing_before).
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SANDBOX_AUDIT_WRITER_H
#define AGENT_SANDBOX_AUDIT_WRITER_H

#include <glib.h>
#include <jansson.h>

#include "agent/sandbox/audit_file.h"
#include "agent/session/session.h"

/* The code of the warning. */
#define AUDIT_INCOMPLETE "audit_incomplete"

struct audit_writer;

/* The file is opened by the first record. The session must outlive the
 * writer. */
struct audit_writer *audit_writer_new(enum audit_part part, const char *sandbox,
                                      struct session *session);
void audit_writer_free(struct audit_writer *writer);

/* Append a record; members is taken. */
void audit_writer_add(struct audit_writer *writer, const char *type,
                      json_t *members);

/* Count records that are left out: no warning. */
void audit_writer_skip(struct audit_writer *writer, guint64 count);

/* Append a record of this type if some are missing since the last one. */
void audit_writer_end(struct audit_writer *writer, const char *type);

#endif
