/* SPDX-License-Identifier: Apache-2.0
 *
 * port_node - open a virtio-serial port by the name that the host assigned.
 */
#ifndef SHIM_PORT_NODE_H
#define SHIM_PORT_NODE_H

#define PORT_NODE_FOLDER "/dev/virtio-ports/"

/* Open the port with O_NONBLOCK, by its link in PORT_NODE_FOLDER or, without
 * udev, by a lookup in /sys, and exclude other openers. Return a new fd,
 * -ENOENT: not there yet, -EBUSY: already open, or another -errno. */
int port_node_open(const char *name);

#endif
