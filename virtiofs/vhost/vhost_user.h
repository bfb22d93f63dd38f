/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user - the vhost-user back-end of a virtio-fs device.
 */
#ifndef VIRTIOFS_VHOST_VHOST_USER_H
#define VIRTIOFS_VHOST_VHOST_USER_H

#include <glib.h>
#include <stdbool.h>

#include "virtiofs/fuse/fuse_server.h"

struct vhost_user_config {
    unsigned pool_size; /* helper threads of each queue (queue_pool.h) */
    /* Another daemon may take over in the middle of a connection: the front-end
     * must send all memory to each daemon, and may not repeat the
     * negotiation. */
    bool restartable;
};

/* Accept one front-end on listen_fd (taken) and serve it until it closes the
 * connection or stop_fd (borrowed) becomes readable. All queues are stopped on
 * return. Return FALSE and error (ERROR_IO_ERROR) if the connection broke
 * otherwise. */
gboolean vhost_user_serve(struct fuse_server *server,
                          const struct vhost_user_config *config, int listen_fd,
                          int stop_fd, GError **error);

#endif
