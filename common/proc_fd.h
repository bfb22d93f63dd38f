/* SPDX-License-Identifier: Apache-2.0
 *
 * proc_fd - paths of open files, for calls that take no O_PATH fd.
 *
 * "/proc/self/fd/N" leads to the inode of fd N whatever its name is (proc(5)).
 * In a sandbox without /proc another folder stands for /proc/self/fd.
 */
#ifndef COMMON_PROC_FD_H
#define COMMON_PROC_FD_H

struct proc_fd_path {
    char text[48];
};

struct proc_fd_path proc_fd_path(int fd);

/* The current folder stands for it. Before there are threads. */
void proc_fd_use_current_folder(void);

#endif
