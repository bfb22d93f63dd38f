/* SPDX-License-Identifier: Apache-2.0
 *
 * real_path - resolves a path, even if it does not exist yet.
 */
#ifndef COMMON_REAL_PATH_H
#define COMMON_REAL_PATH_H

#include <stdbool.h>

/* Return an absolute path, without symlinks in its existing part. A new
 * string. */
char *real_path_of(const char *path);

/* Return whether path is the folder or below it. Both are absolute and without
 * symlinks. */
bool real_path_is_beneath(const char *path, const char *folder);

#endif
