/* SPDX-License-Identifier: Apache-2.0
 *
 * local_rootfs - the root file system of a guest image as a tree of files, for
 * --rootfs.
 *
 * The tree is made from the image's rootfs.ext4 once, by debugfs(8), below
 * ${XDG_CACHE_HOME:-~/.cache}/stepback/roots/: a mount of the file would need
 * root's rights, and have the host's kernel read it. It belongs to the user,
 * and nothing writes to it afterwards.
 */
#ifndef AGENT_LOCAL_LOCAL_ROOTFS_H
#define AGENT_LOCAL_LOCAL_ROOTFS_H

#include <glib.h>

#define LOCAL_DEBUGFS "debugfs"

struct local_rootfs {
    char *path;
    int lock; /* keeps the tree from being removed; -1: none */
};

/* Find the tree of an image, or make it, which takes up to a minute; trees of
 * former builds of the image are removed unless a sandbox uses them. Fails with
 * ERROR_INVALID_FIELD or ERROR_VM_LAUNCH_FAILED and the remedy. */
gboolean local_rootfs_open(const char *image, struct local_rootfs *ret_rootfs,
                           GError **error);
void local_rootfs_clear(struct local_rootfs *rootfs);

#endif
