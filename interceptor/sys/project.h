/* SPDX-License-Identifier: Apache-2.0
 *
 * project - folders that pass their project id to new entries (XFS, ext4).
 *
 * Such a folder rejects entries of another project: rename(2) and link(2) fail
 * with EXDEV. But it can hold such entries from before the flag was set. Undo
 * could not return them to it, and an inode with a project could not enter a
 * log whose folders pass on theirs. Only the folder's own flag
 * (FS_XFLAG_PROJINHERIT) decides. So the engine clears the flag of a folder of
 * the log for good, and that of a folder of the share until its metadata is
 * restored at the end.
 *
 * A project can be set only in the initial user namespace, by the folder's
 * owner.
 */
#ifndef INTERCEPTOR_SYS_PROJECT_H
#define INTERCEPTOR_SYS_PROJECT_H

#include <stdbool.h>
#include <stdint.h>

struct project {
    uint32_t id;   /* 0: none */
    bool inherits; /* a folder that passes its id to new entries */
};

/* Return the project of the file or folder behind an fd of any kind that can be
 * read. Zeroes if it cannot have one or the filesystem does not report it. */
struct project project_of_fd(int fd);

/* The same by name. Returns 0 or -errno; fails for a symlink or device node. */
int project_of_name(int dirfd, const char *name, struct project *ret_project);

/* Set a folder's project. Returns 0 or -errno. */
int project_set(int dirfd, struct project wanted);

/* Clear the folder's inheritance flag. */
void project_stop(int dirfd);

/* As sys_rename_noreplace() and sys_linkat(). On EXDEV, clear the target
 * folder's inheritance flag (project_stop()) and try again. */
int project_rename(int dirfd, const char *name, int to, const char *to_name);
int project_link(int dirfd, const char *name, int to, const char *to_name);

/* Give the file dirfd/name, which this process has just made, the project that
 * it would have if it had been made in the folder. On failure it has none;
 * project_rename() copes with that. */
void project_adopt(int dirfd, const char *name, int folder);

#endif
