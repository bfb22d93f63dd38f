/* SPDX-License-Identifier: Apache-2.0
 *
 * grants - refuse files that would give rights to other users of the host.
 *
 * A client whose requests run as root, or as the server's user, could leave a
 * program there that runs as that user for any user that starts it, or a device
 * node that anyone may open. So the mutation layer refuses to set such a bit
 * and to make such a node, and to open a file with such a bit for writing:
 * writes as root do not clear the bit. Files that already have the bit keep it,
 * and undo and redo restore it.
 *
 * Directories are exempt, since their set-group-ID bit only passes on the
 * group, and so is the character device 0:0, overlayfs's mark of a removed
 * name.
 */
#ifndef INTERCEPTOR_ENGINE_GRANTS_H
#define INTERCEPTOR_ENGINE_GRANTS_H

#include "interceptor/engine/core.h"

/* Each function returns 0 or -EPERM, and reports the first refusal of each
 * step. */

/* A client makes a file of this mode (with its type), or sets the mode. */
int grants_check_mode(struct ic *ic, mode_t mode);
int grants_check_node(struct ic *ic, mode_t mode, dev_t rdev);

int grants_check_xattr(struct ic *ic, const char *name);

/* A client is about to write to the inode (a reference). */
int grants_check_write(struct ic *ic, const struct ic_inode *inode);

#endif
