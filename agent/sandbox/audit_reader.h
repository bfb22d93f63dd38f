/* SPDX-License-Identifier: Apache-2.0
 *
 * audit_reader - reads the record of a sandbox (audit_file.h), from its oldest
 * line on, and checks the chain.
 */
#ifndef AGENT_SANDBOX_AUDIT_READER_H
#define AGENT_SANDBOX_AUDIT_READER_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/sandbox/audit_file.h"

struct audit_reader;

struct audit_line {
    const char *text; /* borrowed until the next line; NULs are replaced */
    json_t *record;   /* borrowed; NULL: it is no JSON object */
    const char *file; /* its name; borrowed */
    unsigned number;  /* in the file, from 1 */
    bool fits;        /* "prev" is the hash of the line before */
};

/* On failure return NULL with ERROR_NOT_FOUND or ERROR_IO_ERROR. */
struct audit_reader *audit_reader_new(enum audit_part part, const char *sandbox,
                                      GError **error);
void audit_reader_free(struct audit_reader *reader);

/* Read the next line. Return false at the end for now: lines that are appended
 * later can follow. An error of reading is an end. */
bool audit_reader_next(struct audit_reader *reader,
                       struct audit_line *ret_line);

/* Return the bytes of a last line without a newline. */
gsize audit_reader_rest(const struct audit_reader *reader);

#endif
