/* SPDX-License-Identifier: Apache-2.0
 *
 * project - folders that give their project to what is in them (XFS, ext4).
 *
 * Such a folder lets nothing in that has another project: rename(2) and link(2)
 * say EXDEV. But it can hold some, from before it was one; what the log keeps
 * of that would not come back, and nothing that has a project gets into a log
 * whose folders give theirs. The folder's inode says it alone
 * (FS_XFLAG_PROJINHERIT), so a folder of the log is told to stop it, and one of
 * the share until its metadata is put back, at the end.
 *
 * Only in the first user namespace can it be set, by who owns the folder.
 */
#ifndef INTERCEPTOR_SYS_PROJECT_H
#define INTERCEPTOR_SYS_PROJECT_H

#include <stdbool.h>
#include <stdint.h>

struct project {
    uint32_t id;   /* 0: none */
    bool inherits; /* a folder that gives it to what is made in it */
};

/* Of the file or folder behind an fd of any kind, which may be read; of what
 * cannot have one, or does not say, zeroes. */
struct project project_of_fd(int fd);

/* The same of a name: 0, or -errno; a symlink's or a node's is not told. */
int project_of_name(int dirfd, const char *name, struct project *ret_project);

/* Make it be so. 0 or -errno. */
int project_set(int dirfd, struct project wanted);

/* The folder gives its project to nothing any more. */
void project_stop(int dirfd);

/* sys_rename_noreplace() and sys_linkat(); a folder that lets nothing of other
 * projects in is told to (project_stop()). */
int project_rename(int dirfd, const char *name, int to, const char *to_name);
int project_link(int dirfd, const char *name, int to, const char *to_name);

/* The file at dirfd/name, which we have just made, gets the project that it
 * would have if it had been made in the folder. Where that fails, it has none:
 * project_rename() helps. */
void project_adopt(int dirfd, const char *name, int folder);

#endif
