/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_edited - save edits by other processes to the step's files.
 *
 * The rollback of a step that is denied or was interrupted does not ask whether
 * content that other processes have written meanwhile may be discarded. So it
 * is first copied into blobs/ of the step, which is then put aside.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_EDITED_H
#define INTERCEPTOR_RESTORE_RESTORE_EDITED_H

#include <dirent.h>
#include <sys/stat.h>

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct restore;

/* Set which files were edited: inodes (uint64_t -> whether it was; taken; may
 * be NULL) decides for those in it; for files that the log keeps, and for
 * others, a ctime later than since_us (microseconds since the epoch) does. Call
 * before restoring anything, which changes the ctime. 0 or -errno: some are
 * unknown, and nothing may be restored. */
int restore_set_edited(struct restore *restore, int64_t since_us,
                       GHashTable *inodes);

/* Save the content if it was edited. Call before the first change of it. fd:
 * O_PATH. 0 or -errno. */
int restore_save_edited(struct restore *restore, uint64_t ino, int fd);

/* Copy the content of the file at the name, or the target of the symlink; other
 * types have no content. 0 or -errno. */
int restore_save_name(struct restore *restore, int dirfd, const char *name,
                      const struct stat *st);

/* Copy the content at the name to a new name, in any directory. -EEXIST: the
 * new name exists. */
int restore_save_as(int dirfd, const char *name, const struct stat *st, int to,
                    const char *to_name);

/* Return the name below blobs/ of the nth copy. Each try makes a new copy: one
 * that a killed try left may be complete, and the file half restored since. */
enum { RESTORE_MAX_COPIES = 100 };
struct copy_name {
    char text[48];
};
struct copy_name restore_copy_name(uint64_t ino, int n);

/* Return whether a name below blobs/ is that of such a copy. */
bool restore_is_edited(const char *name);

#endif
