/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_mounts - the tree of mounts of a sandbox.
 */
#ifndef COMMON_SANDBOX_MOUNTS_H
#define COMMON_SANDBOX_MOUNTS_H

#include "common/sandbox_parts.h"

/* Build the mounts and pivot to them (sandbox_mounts.c); sets the sandbox's
 * paths. FALSE and error on failure. */
gboolean sandbox_mount_root(struct sandbox *sandbox,
                            const struct sandbox_places *places,
                            GError **error);

/* The same with chroot(2). */
gboolean sandbox_change_root(struct sandbox *sandbox,
                             const struct sandbox_places *places,
                             GError **error);

#endif
