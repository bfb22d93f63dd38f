/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user - the vhost-user back-end of a virtio-fs device.
 */
#ifndef VIRTIOFS_VHOST_USER_H
#define VIRTIOFS_VHOST_USER_H

#include <glib.h>

#include "virtiofs/fuse_server.h"

/* Accept one front-end on listen_fd (taken) and serve it until it closes the
 * connection or stop_fd (borrowed) becomes readable. All queues are stopped
 * when it returns. Each queue has up to pool_size threads more. FALSE and error
 * (ERROR_IO_ERROR) if the connection broke otherwise. */
gboolean vhost_user_serve(struct fuse_server *server, unsigned pool_size,
                          int listen_fd, int stop_fd, GError **error);

#endif
