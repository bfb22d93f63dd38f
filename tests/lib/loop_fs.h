/* SPDX-License-Identifier: Apache-2.0
 *
 * loop_fs - a world on its own file system, on a loop device.
 */
#ifndef TESTS_LOOP_FS_H
#define TESTS_LOOP_FS_H

#include "tests/lib/world.h"

struct loop_fs {
    const char *name, *mkfs; /* the command, without the file */
    off_t size;              /* bytes */
};

/* Mount a file system of that type over the base of the world, which is new.
 * False: not possible here (no root, no loop devices, no mkfs for it). */
bool loop_fs_mount(struct world *w, const struct loop_fs *fs);

/* Call after the world has stopped and before it is freed. */
void loop_fs_unmount(struct world *w);

#endif
