/* SPDX-License-Identifier: Apache-2.0
 *
 * win_names - which names Windows allows, and which it treats as equal.
 *
 * Source: "Naming Files, Paths, and Namespaces" (learn.microsoft.com), and the
 * path normalisation of Win32: trailing dots and spaces are removed, and the
 * part before the first dot, without trailing spaces, must not name a device.
 *
 * A name here is bytes; on Windows it is UTF-16. So a name that is not UTF-8
 * cannot exist there.
 *
 * Threads: any.
 */
#ifndef P9_PROFILE_WIN_NAMES_H
#define P9_PROFILE_WIN_NAMES_H

#include <glib.h>

/* Check whether a file may get this name (a single component). Return 0;
 * -EINVAL for a forbidden character, a trailing dot or space, or the name of a
 * device; -EILSEQ if it is not UTF-8. */
int win_name_check(const char *name);

/* Return a new string that is equal for names that differ only in case. As in
 * NTFS, it folds character by character, in the basic plane and independent of
 * the locale. Bytes that are not UTF-8 (in names that other programs created)
 * are kept. */
char *win_name_fold(const char *name);

/* Return whether the extension marks an executable. Only extensions that are
 * used for nothing else count: a .py is usually a module. */
gboolean win_name_is_executable(const char *name);

#endif
