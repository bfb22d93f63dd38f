/* SPDX-License-Identifier: Apache-2.0
 *
 * restore - make the tree what it was before a step.
 *
 * The step's records say which bindings and inodes there were; how the step
 * got from there to here is not known and not needed. Each action looks first
 * whether it is already done, so that a restore that was interrupted anywhere
 * is finished by doing it again (I3).
 *
 *  1. Check: all kept content is intact, every inode that must come back
 *     can be found or made. Until here nothing is changed.
 *  2. Detach: each entry that is not what its binding says goes to the staging
 *     folder, named by its inode number; directories go with all that is in
 *     them, and are then looked into there.
 *  3. Attach: each binding, from the root down, gets its inode back: from
 *     staging, from the log, or made anew from its copy.
 *  4. Content in place, so that hard links stay; then metadata of files, then
 *     of directories, deepest first.
 *
 * What is left in staging was created by the step, or is a link too many.
 *
 * Staging is in the step's folder. If names cannot be moved there (another
 * filesystem, another mount) it is a folder in the share's root, under a name
 * that is recorded in the manifest first, as is the root's metadata.
 */
#ifndef INTERCEPTOR_RESTORE_H
#define INTERCEPTOR_RESTORE_H

#include <glib.h>

#include "interceptor/held.h"
#include "interceptor/step.h"
#include "interceptor/undo_log.h"

/* The step in wal/in_progress (dirfd) is taken back in the tree at root. The
 * caller discards its folder afterwards. damaged_too: content that is missing
 * or damaged in the log is left out. On error: ERROR_PREIMAGE_MISSING and
 * ERROR_PREIMAGE_CORRUPT before anything is changed, ERROR_IO_ERROR else. */
gboolean restore_step(struct undo_log *log, struct step *step, int dirfd,
                      int root, struct held_links *held, bool damaged_too,
                      GError **error);

#endif
