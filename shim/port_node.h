/* SPDX-License-Identifier: Apache-2.0
 *
 * port_node - a virtio-serial port by the name that the host gave it.
 */
#ifndef SHIM_PORT_NODE_H
#define SHIM_PORT_NODE_H

#define PORT_NODE_FOLDER "/dev/virtio-ports/"

/* Open the port, O_NONBLOCK: by its link in PORT_NODE_FOLDER, or, where no
 * udev makes that, by looking it up in /sys; and let nobody else do so. A new
 * fd; -ENOENT: there is none yet, -EBUSY: it is open somewhere, or -errno. */
int port_node_open(const char *name);

#endif
