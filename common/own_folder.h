/* SPDX-License-Identifier: Apache-2.0
 *
 * own_folder - open a folder that no other user can read or replace.
 */
#ifndef COMMON_OWN_FOLDER_H
#define COMMON_OWN_FOLDER_H

/* Open the folder at path if it belongs to this process's user, has mode 0700,
 * and lies in folders that only this user and root can change. *ret_path
 * (owned) is then its path without symlinks. -1: *ret_problem (owned) says what
 * is wrong, as the end of a sentence that begins with the path. */
int own_folder_open(const char *path, char **ret_path, char **ret_problem);

#endif
