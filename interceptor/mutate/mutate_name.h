/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate_name - check names given by a client.
 */
#ifndef INTERCEPTOR_MUTATE_MUTATE_NAME_H
#define INTERCEPTOR_MUTATE_MUTATE_NAME_H

#include <stdbool.h>

/* Return whether name is a single path component that a client may use. */
bool mutate_is_name(const char *name);

/* Return whether name is that of the folder with the undo logs of the folders
 * beside it (ic_default_undo_dir()). What a log says is done on the host, so a
 * client must not make, change, move or enter one at any depth. So are names
 * that a folder with casefold (ext4) may take for it: other case, and
 * characters that are not ASCII, some of which such a folder ignores. */
bool mutate_is_log_name(const char *name);

#endif
