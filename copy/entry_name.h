/* SPDX-License-Identifier: Apache-2.0
 *
 * entry_name - where an entry of a stream goes.
 */
#ifndef COPY_ENTRY_NAME_H
#define COPY_ENTRY_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum { ENTRY_NAME_MAX = 32 * 1024 };

/* Write a name without empty and "." components to out (ENTRY_NAME_MAX bytes);
 * "" is the target itself. Return false if the name is absolute, too long, or
 * has a "..". */
bool entry_name_clean(const char *name, char *out);

/* Return the length of a clean name's first component. */
size_t entry_name_top(const char *name);

/* Return whether a clean name is below a directory, or is it. */
bool entry_name_is_below(const char *name, const char *directory);

#endif
