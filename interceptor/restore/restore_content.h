/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_content - restore file content in place, which keeps links.
 *
 * A file gets its former size, then the ranges in the pack (pack.h), or all of
 * its clone; the step did not change the rest of it. Repeating this after an
 * interruption is harmless.
 *
 * What the log has of a lost file (restore_lost.h) is written to
 * blobs/o<number>, with holes for what was not kept; the step's directory is
 * then put aside.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_CONTENT_H
#define INTERCEPTOR_RESTORE_RESTORE_CONTENT_H

#include "interceptor/restore/restore_base.h"

/* 0 or -errno; after an error r->trouble names the file. */
int restore_content(struct restore *r);

/* Return whether a name below blobs/ has the form "o<number>". */
bool restore_is_orphan(const char *name);

#endif
