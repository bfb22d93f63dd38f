/* SPDX-License-Identifier: Apache-2.0
 *
 * network - see network.h.
 */
#include "local/network.h"

#include <arpa/inet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/network_link.h"
#include "local/report.h"

#define CARD "eth0"

static void set_address(struct sockaddr *place, const char *text)
{
    struct sockaddr_in address = { .sin_family = AF_INET };

    inet_pton(AF_INET, text, &address.sin_addr);
    memcpy(place, &address, sizeof(address));
}

static void check(int result, const char *what)
{
    if (result < 0)
        report_failure(LOCAL_NO_NETWORK, "cannot set %s of the sandbox", what);
}

static void bring_up(int fd, const char *name)
{
    struct ifreq request = { 0 };

    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    check(ioctl(fd, SIOCGIFFLAGS, &request), "a network card");
    request.ifr_flags |= IFF_UP;
    check(ioctl(fd, SIOCSIFFLAGS, &request), "a network card");
}

static int open_socket(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    check(fd, "the network");
    return fd;
}

void network_open_loopback(void)
{
    int fd = open_socket();

    bring_up(fd, "lo");
    close(fd);
}

void network_open(int tap)
{
    static const unsigned char mac[] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };
    struct ifreq request = { .ifr_name = CARD };
    struct rtentry route = { .rt_flags = RTF_UP | RTF_GATEWAY };
    int fd = open_socket();

    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    check(ioctl(tap, TUNSETIFF, &request), "a tap device");
    request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    memcpy(request.ifr_hwaddr.sa_data, mac, sizeof(mac));
    check(ioctl(fd, SIOCSIFHWADDR, &request), "the hardware address");
    request.ifr_mtu = NETWORK_LINK_MTU;
    check(ioctl(fd, SIOCSIFMTU, &request), "the MTU");
    set_address(&request.ifr_addr, NETWORK_LINK_GUEST);
    check(ioctl(fd, SIOCSIFADDR, &request), "the address");
    set_address(&request.ifr_netmask, NETWORK_LINK_NETMASK);
    check(ioctl(fd, SIOCSIFNETMASK, &request), "the netmask");
    bring_up(fd, CARD);
    set_address(&route.rt_dst, "0.0.0.0");
    set_address(&route.rt_genmask, "0.0.0.0");
    set_address(&route.rt_gateway, NETWORK_LINK_GATEWAY);
    check(ioctl(fd, SIOCADDRT, &route), "the default route");
    close(fd);
}
