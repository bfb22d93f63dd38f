/* SPDX-License-Identifier: Apache-2.0
 *
 * world_local - the world "mount" with the caches of local isolation.
 *
 * The test mounts as stepback-local does, and the daemon serves the device
 * (--mount-fd), so that the kernel keeps names, attributes and pages. Before an
 * undo, a redo or an abort all that the mount shows is read into these caches,
 * with the names that it showed earlier; after it, and when a step opens, the
 * mount must show the folder's tree at once.
 */
#ifndef TESTS_WORLD_LOCAL_H
#define TESTS_WORLD_LOCAL_H

#include "tests/lib/world.h"

/* Mount on world->mount. Return the device, which the caller closes. */
int world_local_mount(struct world *world);

/* Unmount, for which the daemon must still run. */
void world_local_unmount(struct world *world);

#endif
