/* SPDX-License-Identifier: Apache-2.0
 *
 * real_path - where a path leads, also if it is still to be made.
 */
#ifndef COMMON_REAL_PATH_H
#define COMMON_REAL_PATH_H

#include <stdbool.h>

/* An absolute path without symlinks, as far as it exists. A new string. */
char *real_path_of(const char *path);

/* Both are absolute and without symlinks: is it the folder, or below it? */
bool real_path_is_beneath(const char *path, const char *folder);

#endif
