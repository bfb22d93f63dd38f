/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_edited - what others have written into a file of the step's.
 *
 * A step that is denied or was interrupted is taken back, and nobody is asked
 * whether the content that others have given its files meanwhile may go. It is
 * copied before it does, into blobs/ of the step, which is then put aside.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_EDITED_H
#define INTERCEPTOR_RESTORE_RESTORE_EDITED_H

#include <dirent.h>
#include <sys/stat.h>

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct restore;

/* Which files these are: inodes (uint64_t -> whether it is one; taken; may be
 * NULL) says so; of what the log keeps, and of others, the ctime, if it is
 * later than since_us, in microseconds since the epoch. Before anything is put
 * back: that changes the ctime, too. 0 or -errno: then some are unknown, and
 * nothing may be put back. */
int restore_set_edited(struct restore *restore, int64_t since_us,
                       GHashTable *inodes);

/* Before the first change of this file's content; fd: O_PATH. 0 or -errno. */
int restore_save_edited(struct restore *restore, uint64_t ino, int fd);

/* Copy the file's content to blobs/. fd: O_PATH. 0 or -errno. */
int restore_save_copy(struct restore *restore, uint64_t ino, int fd,
                      off_t size);

/* The same of what is at the name, and of a symlink's target; nothing else has
 * content. 0 or -errno. */
int restore_save_name(struct restore *restore, int dirfd, const char *name,
                      const struct stat *st);

/* Copy what is at the name to a new name, which may be in any folder. -EEXIST:
 * that is taken. */
int restore_save_as(int dirfd, const char *name, const struct stat *st, int to,
                    const char *to_name);

/* The name below blobs/ of the nth copy. Each try makes a fresh one: that of a
 * try which was killed may be whole, and the file half restored since. */
enum { RESTORE_MAX_COPIES = 100 };
struct copy_name {
    char text[48];
};
struct copy_name restore_copy_name(uint64_t ino, int n);

/* Is that entry of blobs/ such a copy? */
bool restore_is_edited(const char *name);

#endif
