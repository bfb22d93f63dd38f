/* SPDX-License-Identifier: Apache-2.0
 *
 * search - find a file of which nobody knows the name.
 *
 * That is a last resort: it reads the whole tree. Where the log is on another
 * filesystem, a file that lost a name was copied, not moved; it lives on if it
 * had other names, and no record says where they are. And one that is open may
 * have lost the name under which it was last seen.
 */
#ifndef INTERCEPTOR_CAPTURE_SEARCH_H
#define INTERCEPTOR_CAPTURE_SEARCH_H

#include <glib.h>
#include <stdint.h>

/* For a name of the file: 0 if that will do, -ENOENT to go on, or -errno. */
typedef int search_found(int dirfd, const char *name, uint64_t ino,
                         void *opaque);

/* Call found for the file's names below top. What it ended with, or -ENOENT. */
int search_file(int top, uint64_t ino, search_found *found, void *opaque);

/* The same for many files, in one walk. wanted: see search_set_new(); those for
 * which a name did are removed from it. 0 or -errno of found or the walk.
 */
int search_files(int top, GHashTable *wanted, search_found *found,
                 void *opaque);

/* A new set of uint64_t, which owns its keys, and adding to it. */
GHashTable *search_set_new(void);
void search_set_add(GHashTable *set, uint64_t ino);

#endif
