/* SPDX-License-Identifier: Apache-2.0
 *
 * log_name - the name of the folder with the undo logs of the folders beside
 * it.
 *
 * What a log says is done on the host. So nothing that a guest decides may
 * make, change, move or enter such a folder, at any depth. Also used by the
 * shim: without GLib. Threads: any.
 */
#ifndef COMMON_LOG_NAME_H
#define COMMON_LOG_NAME_H

#include <stdbool.h>

#define LOG_NAME ".stepback"

/* The logs are in here, at LOG_FOLDER/NAME beside the folder NAME. git checks
 * no file out below a folder .git, whatever a commit says (its verify_path()):
 * a client of the folder above may have made the commit. */
#define LOG_FOLDER LOG_NAME "/.git"

/* Return whether name is LOG_NAME, or one that a filesystem may take for it:
 * in other case (casefold of ext4, which also ignores some characters that are
 * not ASCII: here, all are), with dots and spaces at its end, or short (vfat).
 */
bool log_name_is(const char *name);

/* Return whether a name of the path is. */
bool log_name_is_in(const char *path);

#endif
