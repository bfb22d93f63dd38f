/* SPDX-License-Identifier: Apache-2.0
 *
 * audit_file - the append-only record of what happened in a sandbox.
 *
 *     $XDG_STATE_HOME/stepback/audit/NAME.jsonl           0600
 *     $XDG_STATE_HOME/stepback/audit/NAME.jsonl.1         older, up to .7
 *     $XDG_STATE_HOME/stepback/audit/network/NAME.jsonl   its network, likewise
 *
 * A line is a JSON object: "time" (RFC 3339, UTC), "type", "sandbox", the
 * members of the type, and "prev": the SHA-256 (hex) of the line before without
 * its newline, or 64 zeros. The files outlive the sandbox; a new one of the
 * same name continues them.
 *
 * The chain shows lines that were changed, removed or inserted
 * (audit_reader.h). It cannot show that the last lines are missing, or that a
 * process of this user has written all hashes anew.
 *
 * Lines are not synced: a crash of the host can lose the newest ones.
 */
#ifndef AGENT_SANDBOX_AUDIT_FILE_H
#define AGENT_SANDBOX_AUDIT_FILE_H

#include <glib.h>
#include <jansson.h>

enum {
    AUDIT_FILE_MAX = 8 << 20,  /* bytes; then a new file begins */
    AUDIT_LINE_MAX = 64 << 10, /* a longer record keeps short members */
    AUDIT_FILES = 7,           /* older ones that are kept */
    AUDIT_HASH_LENGTH = 64,
};

/* A guest can cause any number of network records: they do not take the place
 * of others. */
enum audit_part { AUDIT_EVENTS, AUDIT_NETWORK };

struct audit_file;

/* Return the path of the directory (sandbox NULL), or of a sandbox's newest
 * file: a new string. */
char *audit_file_path(enum audit_part part, const char *sandbox);

/* Open the record for appending. On failure return NULL with ERROR_IO_ERROR;
 * ERROR_INVALID_DIRECTORY: a guest could write there; ERROR_BUSY: another
 * process appends to it. */
struct audit_file *audit_file_open(enum audit_part part, const char *sandbox,
                                   GError **error);
/* NULL is allowed. */
void audit_file_close(struct audit_file *file);

/* Append a record; members (taken) has those of the type. On failure
 * (ERROR_IO_ERROR) the file is as before. */
gboolean audit_file_append(struct audit_file *file, const char *type,
                           json_t *members, GError **error);

/* Set ret_hash to the hash of a line. */
void audit_file_hash(const char *line, gsize length,
                     char ret_hash[AUDIT_HASH_LENGTH + 1]);

#endif
