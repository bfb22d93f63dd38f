/* SPDX-License-Identifier: Apache-2.0
 *
 * restore - make the tree what it was before a step.
 *
 * The records say which bindings and inodes existed, not how the step changed
 * them. Each action first checks whether it is already done, so an interrupted
 * restore is completed by running it again (I3).
 *
 *  1. Check that all kept content is intact and that each inode that must come
 *     back can be found or made. Nothing has changed so far.
 *  2. Detach: an entry that its binding does not name moves to staging, named
 *     by its inode number; a directory moves with its content and is processed
 *     there.
 *  3. Attach: from the root down, each binding gets its inode from staging,
 *     from the log, or made anew from its copy.
 *  4. Write content in place, which keeps hard links; then set the metadata of
 *     files, then of directories, deepest first.
 *
 * What stays in staging was created by the step or is a surplus link. Staging
 * is in the step's directory; if names cannot be moved there, in the share's
 * root, under a name that the manifest records first, with the root's metadata.
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
    RESTORE_EDITED = 1 << 1,  /* and what others removed (restore_lost.h) */
    RESTORE_FORCED = 1 << 2,  /* with RESTORE_EDITED: restore the step's paths,
                               * whatever is there now */
    RESTORE_DRY = 1 << 3, /* only restore_check(); the log does not change */
};

/* Prepare to roll back the step in wal/in_progress (dirfd) in the tree at root.
 * Everything is borrowed until restore_free(). flags: enum restore_flags. NULL
 * and error if the log has no blobs/. */
struct restore *restore_new(struct undo_log *log, struct step *step, int dirfd,
                            int root, struct log_links *log_links,
                            unsigned flags, GError **error);

/* Check that everything needed exists. Changes nothing but the manifest.
 * ERROR_PREIMAGE_MISSING, ERROR_PREIMAGE_CORRUPT, ERROR_IO_ERROR; ERROR_BUSY:
 * see restore_busy.h. */
gboolean restore_check(struct restore *restore, GError **error);

/* The part of restore_check() that does not look at the tree. */
gboolean restore_check_log(struct restore *restore, GError **error);

/* Report progress there; borrowed. */
void restore_set_progress(struct restore *restore, struct progress *progress);

/* Return the survey of restore_check(): borrowed; NULL if the tree could not be
 * surveyed, or an earlier rollback was interrupted. */
const struct survey *restore_survey(const struct restore *restore);

/* Return the paths that RESTORE_EDITED left out: char *, borrowed. */
GPtrArray *restore_lost(const struct restore *restore);

/* Return the paths of directories that the step had moved and another process
 * has removed or moved: they come back without what the step had not changed in
 * them. Elements are char *, borrowed. */
GPtrArray *restore_emptied(const struct restore *restore);

/* After restore_run(): for each path that was left out and of whose content the
 * log has a part, return the path and the file with that part in the step's
 * directory, "PATH (blobs/oN)": char *, borrowed. */
GPtrArray *restore_orphans(const struct restore *restore);

/* Move what is put aside to blobs, as i<ino>, instead of removing it. blobs: a
 * blobs/ directory on the same file system, borrowed. */
void restore_set_keep(struct restore *restore, int blobs);

/* Of what is put aside, files with a ctime later than since_us (microseconds
 * since the epoch; 0: all) may be another process's. Only these are kept; if
 * names cannot be moved to the log, their content is copied to it. */
void restore_set_foreign(struct restore *restore, int64_t since_us);

/* Return whether restore_set_keep() works: it does not if names cannot be moved
 * between the share and the log. */
bool restore_can_keep(const struct restore *restore);

/* Restore. After an error (ERROR_IO_ERROR) the restore is incomplete and must
 * be run again. After success the caller discards the step's directory. */
gboolean restore_run(struct restore *restore, GError **error);

/* Return the negative errno of restore_run()'s error; 0 if there was none. */
int restore_errno(const struct restore *restore);

/* Return whether restore_run() attached all names, and went on to remove what
 * it had put aside and to overwrite content. */
bool restore_has_begun_content(const struct restore *restore);

/* Return whether inodes were made anew that no record says are gone; their
 * numbers have changed. */
bool restore_has_remade(const struct restore *restore);

/* Return whether RESTORE_EDITED has left anything out. */
bool restore_has_lost(const struct restore *restore);

void restore_free(struct restore *restore);
typedef struct restore restore_auto;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(restore_auto, restore_free)

#endif
