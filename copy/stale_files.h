/* SPDX-License-Identifier: Apache-2.0
 *
 * stale_files - temporary files of copies that were killed.
 *
 * A copy holds a shared flock(2) on the directory in which it makes a temporary
 * name (new_file.h). A later copy into that directory that gets an exclusive
 * one removes such names. On a file system without locks they stay.
 */
#ifndef COPY_STALE_FILES_H
#define COPY_STALE_FILES_H

/* Mark a directory as used by this copy, until the fd is closed. */
void stale_files_guard(int dir_fd);

/* Remove stale files, unless a copy uses the directory. */
void stale_files_remove(int dir_fd);

#endif
