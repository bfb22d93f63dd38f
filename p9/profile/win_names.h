/* SPDX-License-Identifier: Apache-2.0
 *
 * win_names - which names Windows lets a file have, and which are one to it.
 *
 * Source: "Naming Files, Paths, and Namespaces" (learn.microsoft.com), and how
 * Win32 normalises paths: dots and spaces at the end are cut off, and what is
 * before the first dot, without spaces at its end, must not name a device.
 *
 * A name here is bytes; to Windows it is UTF-16. So one that is not UTF-8 is
 * none that a file could have there.
 *
 * Threads: any.
 */
#ifndef P9_PROFILE_WIN_NAMES_H
#define P9_PROFILE_WIN_NAMES_H

#include <glib.h>

/* May a file be given this name (a single component)? 0; -EINVAL: a character
 * that must not be in it, a dot or space at its end, the name of a device;
 * -EILSEQ: it is not UTF-8. */
int win_name_check(const char *name);

/* Names that differ in case alone have the same: a new string. As NTFS does,
 * character by character and in the basic plane; nothing depends on the
 * language. Bytes that are not UTF-8 (names that others have made) stay. */
char *win_name_fold(const char *name);

/* Does its extension tell that it can be executed? Only those that are never
 * anything else: a .py is mostly a module. */
gboolean win_name_is_executable(const char *name);

#endif
