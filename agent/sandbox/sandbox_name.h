/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_name - the names of sandboxes: [a-z0-9][a-z0-9._-]{0,62}.
 */
#ifndef AGENT_SANDBOX_SANDBOX_NAME_H
#define AGENT_SANDBOX_SANDBOX_NAME_H

#include <stdbool.h>

enum { SANDBOX_NAME_MAX = 63 };

bool sandbox_name_is_valid(const char *name);

/* Derive a valid name from that of a folder: letters in lower case, '-' for
 * other characters, "sandbox" if nothing remains. A new string. */
char *sandbox_name_of_folder(const char *path);

/* Return the name for the n-th sandbox of that name (from 1): NAME, NAME-2,
 * NAME-3; NAME is shortened if needed. A new string. */
char *sandbox_name_numbered(const char *name, unsigned n);

#endif
