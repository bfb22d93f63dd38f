/* SPDX-License-Identifier: Apache-2.0
 *
 * full_disk - worlds, each on a small tmpfs that can be filled.
 */
#ifndef TESTS_FULL_DISK_H
#define TESTS_FULL_DISK_H

#include "tests/lib/world.h"

#define MIB ((off_t)1 << 20)

/* Set the umask, call g_test_init(), and enter a mount namespace. */
void full_disk_init(int *argc, char ***argv);

/* Add a test "PREFIX/BACKEND/NAME" of each case, for a folder and a mount. */
void full_disk_add_cases(const char *prefix, const struct world_case *cases,
                         size_t count);

/* Start a world with files "a", "b" and "c" of this size, on a tmpfs with these
 * options. NULL: skipped, without the right to mount. */
struct world *full_disk_start_on(gconstpointer backend, const char *options,
                                 off_t size);

/* On 64 MiB, with files of 16 MiB. */
struct world *full_disk_start(gconstpointer backend);
void full_disk_end(struct world *w);

/* Make a file in the share, on the host. */
void full_disk_file(struct world *w, const char *name, off_t size);

/* Write up to count MiB through the world; returns how many MiB fitted. */
int full_disk_write(struct world *w, const char *name, int count);

/* Use up all free space, outside the share. */
void full_disk_fill(struct world *w);

#endif
