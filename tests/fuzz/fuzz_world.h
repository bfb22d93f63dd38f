/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_world - a small directory with its undo log, and a canary.
 *
 * For fuzz targets: a temporary tree in memory (/dev/shm), made anew for each
 * input. The canary is beside the directory; a symlink in the directory leads
 * there. Whatever the log or a peer says, the canary must not change (I5).
 *
 * One thread.
 */
#ifndef TESTS_FUZZ_WORLD_H
#define TESTS_FUZZ_WORLD_H

#include <glib.h>
#include <stdint.h>

struct fuzz_world {
    char *base, *share, *undo_dir;
    uint64_t numbers[10]; /* inode numbers, see fuzz_world.c */
};

/* Empty and fill it; makes it first if needed. */
void fuzz_world_reset(struct fuzz_world *world);

/* Aborts if something outside the folder and its log has changed. */
void fuzz_world_check(const struct fuzz_world *world);

/* Return text with each "$N" replaced by numbers[N], so that an input finds the
 * tree's inodes whatever their numbers are. New. */
GString *fuzz_world_fill_in(const struct fuzz_world *world, const char *text,
                            size_t len);

#endif
