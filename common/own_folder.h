/* SPDX-License-Identifier: Apache-2.0
 *
 * own_folder - opens a directory that no other user can read or replace.
 */
#ifndef COMMON_OWN_FOLDER_H
#define COMMON_OWN_FOLDER_H

/* Open the directory at path if it belongs to this process's user, has mode
 * 0700, and only this user and root can change its parents. *ret_path (owned)
 * is then its path without symlinks. Return -1 on failure: *ret_problem (owned)
 * is then the rest of a sentence that begins with the path. */
int own_folder_open(const char *path, char **ret_path, char **ret_problem);

#endif
