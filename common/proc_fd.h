/* SPDX-License-Identifier: Apache-2.0
 *
 * proc_fd - paths of open files, for system calls that accept no O_PATH fd.
 *
 * "/proc/self/fd/N" resolves to the inode of fd N whatever its name is
 * (proc(5)). In a sandbox without /proc another directory replaces
 * /proc/self/fd.
 */
#ifndef COMMON_PROC_FD_H
#define COMMON_PROC_FD_H

struct proc_fd_path {
    char text[48];
};

struct proc_fd_path proc_fd_path(int fd);

/* Use the current directory instead of /proc/self/fd. Call it before any thread
 * starts. */
void proc_fd_use_current_folder(void);

#endif
