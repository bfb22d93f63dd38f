/* SPDX-License-Identifier: Apache-2.0
 *
 * network - the network card of a local sandbox: a tap device, of which
 * stepback-net has the other end. Address and routes are those that a guest
 * gets from libslirp.
 */
#ifndef LOCAL_NETWORK_H
#define LOCAL_NETWORK_H

/* Bring up the loopback device of this network namespace. Exit on failure. */
void network_open_loopback(void);

/* Make the card of this open /dev/net/tun. Exit on failure. */
void network_open(int tap);

#endif
