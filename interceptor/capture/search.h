/* SPDX-License-Identifier: Apache-2.0
 *
 * search - find a file whose name is unknown.
 *
 * A last resort: it reads the whole tree. If the log is on another filesystem,
 * a file that lost a name was copied, not moved; it lives on under its other
 * names, if any, and no record says where they are. An open file may also have
 * lost the name under which it was last seen.
 */
#ifndef INTERCEPTOR_CAPTURE_SEARCH_H
#define INTERCEPTOR_CAPTURE_SEARCH_H

#include <glib.h>
#include <stdint.h>

/* Called for a name of the file. Returns 0 to accept it, -ENOENT to go on, or
 * -errno. */
typedef int search_found(int dirfd, const char *name, uint64_t ino,
                         void *opaque);

/* Call found for the file's names below top. Returns what it ended with, or
 * -ENOENT. */
int search_file(int top, uint64_t ino, search_found *found, void *opaque);

/* The same for many files in one walk. wanted: see search_set_new(); a file is
 * removed from it once a name is accepted. Returns 0 or -errno of found or the
 * walk. */
int search_files(int top, GHashTable *wanted, search_found *found,
                 void *opaque);

/* Make a set of uint64_t that owns its keys; add to it. */
GHashTable *search_set_new(void);
void search_set_add(GHashTable *set, uint64_t ino);

#endif
