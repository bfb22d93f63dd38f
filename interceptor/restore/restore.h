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
#ifndef INTERCEPTOR_RESTORE_RESTORE_H
#define INTERCEPTOR_RESTORE_RESTORE_H

#include <glib.h>

#include "interceptor/inode/log_links.h"
#include "interceptor/log/step.h"
#include "interceptor/log/undo_log.h"
#include "interceptor/report/survey.h"

struct progress;
struct restore;

enum restore_flags {
    RESTORE_DAMAGED = 1 << 0, /* leave out what is damaged in the log */
    RESTORE_EDITED = 1 << 1,  /* and what others took away (restore_lost.h) */
    RESTORE_FORCED = 1 << 2,  /* with RESTORE_EDITED: put back what is at the
                               * step's paths, whatever is there now */
    RESTORE_DRY = 1 << 3,     /* only restore_check(): the log stays as it is */
};

/* Prepare to take back the step in wal/in_progress (dirfd) in the tree at
 * root. All is borrowed until restore_free(). flags: enum restore_flags. NULL
 * and error if the log has no blobs/. */
struct restore *restore_new(struct undo_log *log, struct step *step, int dirfd,
                            int root, struct log_links *log_links,
                            unsigned flags, GError **error);

/* Is everything there that is needed? Nothing is changed but the manifest.
 * ERROR_PREIMAGE_MISSING, ERROR_PREIMAGE_CORRUPT, ERROR_IO_ERROR; ERROR_BUSY:
 * see restore_busy.h. */
gboolean restore_check(struct restore *restore, GError **error);

/* The part of restore_check() that does not look at the tree. */
gboolean restore_check_log(struct restore *restore, GError **error);

/* Tell how it goes; borrowed. */
void restore_set_progress(struct restore *restore, struct progress *progress);

/* What restore_check() saw of the tree: borrowed; NULL if it could not be seen
 * or is half-way to what it was. */
const struct survey *restore_survey(const struct restore *restore);

/* The paths that RESTORE_EDITED has left out: char *, borrowed. */
GPtrArray *restore_lost(const struct restore *restore);

/* The paths of folders that the step had moved and another process has removed
 * or moved: they come back without what the step had not changed in them. char
 * *, borrowed. */
GPtrArray *restore_emptied(const struct restore *restore);

/* After restore_run(): for each of these of whose content the log had
 * something, its path and where that is, "PATH (blobs/oN)", in the step's
 * folder: char *, borrowed. */
GPtrArray *restore_orphans(const struct restore *restore);

/* What is put aside goes there, as i<ino>, in place of being removed: a blobs/
 * folder on the same filesystem, borrowed. */
void restore_set_keep(struct restore *restore, int blobs);

/* Of what is put aside, files whose ctime is later than since_us, in
 * microseconds since the epoch, may be another process's (0: all): these alone
 * are kept, or where names cannot be moved to the log, their content is copied
 * to it. */
void restore_set_foreign(struct restore *restore, int64_t since_us);

/* Can it? Not if names cannot be moved between the share and the log. */
bool restore_can_keep(const struct restore *restore);

/* Do it. On error (ERROR_IO_ERROR) it is half done; do it again. The caller
 * discards the step's folder after success. */
gboolean restore_run(struct restore *restore, GError **error);

/* The errno of the error of restore_run(), negative; 0 if there was none. */
int restore_errno(const struct restore *restore);

/* Did inodes have to be made anew of which no record says that they are gone?
 * They have other numbers now. */
bool restore_has_remade(const struct restore *restore);

/* Is there something that RESTORE_EDITED has left out? */
bool restore_has_lost(const struct restore *restore);

void restore_free(struct restore *restore);
typedef struct restore restore_auto;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(restore_auto, restore_free)

#endif
