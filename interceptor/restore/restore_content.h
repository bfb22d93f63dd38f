/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_content - the part of a restore that puts bytes back, in place, so
 * that a file's other names keep it.
 *
 * A file gets the size that it had, then what the pack has of it (pack.h), or
 * all of its clone. Everything else in it the step did not change. Doing it
 * again after an interruption is harmless.
 *
 * What the log has of a file that is lost (restore_lost.h) is written to
 * blobs/o<number>, with holes where nothing was kept; the step's folder is then
 * put aside.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_CONTENT_H
#define INTERCEPTOR_RESTORE_RESTORE_CONTENT_H

#include "interceptor/restore/restore_base.h"

/* 0 or -errno, then r->trouble names the file. */
int restore_content(struct restore *r);

/* "o<number>", and whether a name below blobs/ is such a one. */
struct step_name restore_orphan_name(int64_t number);
bool restore_is_orphan(const char *name);

#endif
