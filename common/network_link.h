/* SPDX-License-Identifier: Apache-2.0
 *
 * network_link - the link between a guest and stepback-net.
 *
 * A frame costs the same whatever its length: in the guest, in QEMU and in
 * stepback-net. So the MTU is much larger than Ethernet's. It is not larger
 * than a quarter of libslirp's TCP window (64 KiB), because a sender waits for
 * an acknowledgement when the window is full.
 */
#ifndef COMMON_NETWORK_LINK_H
#define COMMON_NETWORK_LINK_H

enum { NETWORK_LINK_MTU = 16384 };

/* The guest's addresses, which DHCP gives it as well. */
#define NETWORK_LINK_GUEST   "10.0.2.15"
#define NETWORK_LINK_NETMASK "255.255.255.0"
#define NETWORK_LINK_GATEWAY "10.0.2.2"

/* The same of IPv6, as the guest makes it of libslirp's prefix and its hardware
 * address, and as libslirp advertises it. */
#define NETWORK_LINK_GUEST6   "fec0::5054:ff:fe12:3456"
#define NETWORK_LINK_GATEWAY6 "fe80::2"

/* The name server; the second if the first is the host's own. */
#define NETWORK_LINK_DNS       "10.0.2.3"
#define NETWORK_LINK_OTHER_DNS "10.0.2.4"

#endif
