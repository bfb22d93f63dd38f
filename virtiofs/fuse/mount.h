/* SPDX-License-Identifier: Apache-2.0
 *
 * mount - serves the shared folder on this host, through /dev/fuse.
 *
 * For tests and fault finding: the same file server as for a guest, without a
 * guest.
 */
#ifndef VIRTIOFS_FUSE_MOUNT_H
#define VIRTIOFS_FUSE_MOUNT_H

#include <glib.h>
#include <stdbool.h>

#include "virtiofs/fuse/fuse_server.h"

/* Mount on dir and serve until it is unmounted or stop_fd (borrowed) becomes
 * readable, in which case this function unmounts it. Return FALSE and error
 * (ERROR_IO_ERROR) if it cannot be mounted. */
gboolean mount_serve(struct fuse_server *server, const char *dir, int stop_fd,
                     GError **error);

/* Return whether fd is an open /dev/fuse. */
bool mount_fd_is_fuse(int fd);

/* Serve a mount that another process has made with this open /dev/fuse
 * (borrowed), until it is unmounted or stop_fd (borrowed) becomes readable.
 * Return FALSE and error (ERROR_IO_ERROR) if it cannot be served. */
gboolean mount_serve_fd(struct fuse_server *server, int fd, int stop_fd,
                        GError **error);

#endif
