/* SPDX-License-Identifier: Apache-2.0
 *
 * grants - files that would give a client's rights, or the server's, to other
 * users of the host.
 *
 * A client whose requests are carried out as root, or as the user who runs the
 * server, could leave a program there that runs as that user whoever starts it,
 * or a device node that anybody may open. So the door refuses to set such a bit
 * and to make such a node, and to open a file that has such a bit for writing:
 * root's writes leave the bit on. What was there before stays as it is, and
 * undo and redo bring it back.
 *
 * Directories are exempt, whose set-group-ID bit passes the group on, and so is
 * the character device 0:0, an overlayfs's mark of a removed name.
 */
#ifndef INTERCEPTOR_ENGINE_GRANTS_H
#define INTERCEPTOR_ENGINE_GRANTS_H

#include "interceptor/engine/core.h"

/* Each of these: 0, or -EPERM, of which the first is told. */

/* A client makes a file of this mode, with its type; or sets it. */
int grants_check_mode(struct ic *ic, mode_t mode);
int grants_check_node(struct ic *ic, mode_t mode, dev_t rdev);

int grants_check_xattr(struct ic *ic, const char *name);

/* A client is about to write to the inode (a reference). */
int grants_check_write(struct ic *ic, const struct ic_inode *inode);

#endif
