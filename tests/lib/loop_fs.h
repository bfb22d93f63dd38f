/* SPDX-License-Identifier: Apache-2.0
 *
 * loop_fs - a world on a filesystem of its own, on a loop device.
 */
#ifndef TESTS_LOOP_FS_H
#define TESTS_LOOP_FS_H

#include "tests/lib/world.h"

struct loop_fs {
    const char *name, *mkfs; /* the command, without the file */
    off_t size;              /* bytes */
};

/* The base of the world, which is new, becomes a mounted filesystem of that
 * kind. False: not possible here (no root, no loop devices, no mkfs for it). */
bool loop_fs_mount(struct world *w, const struct loop_fs *fs);

/* The world is stopped, and about to be freed. */
void loop_fs_unmount(struct world *w);

#endif
