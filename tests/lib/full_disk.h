/* SPDX-License-Identifier: Apache-2.0
 *
 * full_disk - worlds on a small tmpfs each, which can be filled.
 */
#ifndef TESTS_FULL_DISK_H
#define TESTS_FULL_DISK_H

#include "tests/lib/world.h"

#define MIB ((off_t)1 << 20)

/* umask, g_test_init(), and a mount namespace. */
void full_disk_init(int *argc, char ***argv);

/* A world with files "a", "b" and "c" of this size, on a tmpfs with these
 * options; started. NULL: the test is skipped, for want of the right to mount.
 */
struct world *full_disk_start_on(gconstpointer backend, const char *options,
                                 off_t size);

/* Of 64 MiB, with files of 16. */
struct world *full_disk_start(gconstpointer backend);
void full_disk_end(struct world *w);

/* Make a file in the share, on the host. */
void full_disk_file(struct world *w, const char *name, off_t size);

/* Write up to so many MiB through the world; returns for how many there was
 * room. */
int full_disk_write(struct world *w, const char *name, int count);

/* Take all the room that is left, beside the share. */
void full_disk_fill(struct world *w);

#endif
