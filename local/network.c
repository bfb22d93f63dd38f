/* SPDX-License-Identifier: Apache-2.0
 *
 * network - see network.h.
 */
#include "local/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/network_link.h"
#include "local/report.h"

#define CARD     "eth0"
#define SETTINGS "/proc/sys/net/ipv6/conf/" CARD "/"

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

static int open_socket(int family)
{
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    check(fd, "the network");
    return fd;
}

void network_open_loopback(void)
{
    int fd = open_socket(AF_INET);

    bring_up(fd, "lo");
    close(fd);
}

/* ---- IPv6 ---------------------------------------------------------------- */

/* Return whether the host's kernel has IPv6, and has it on for new cards. */
static bool has_ipv6(void)
{
    char off = '1';
    fd_auto int fd = open(SETTINGS "disable_ipv6", O_RDONLY | O_CLOEXEC);

    return fd >= 0 && read(fd, &off, 1) == 1 && off == '0';
}

static void set(const char *path, char value)
{
    fd_auto int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, &value, 1) != 1)
        report_failure(LOCAL_NO_NETWORK, "cannot set %s", path);
}

/* All network namespaces of the host share the table of neighbours. An address
 * of a prefix, such as a link-local one, would make each address of the prefix
 * a neighbour: enough of them fill the table, and the host finds no new ones.
 * Neither the kernel nor a router's advertisement adds such an address. */
static void forbid_automatic_addresses(void)
{
    set(SETTINGS "addr_gen_mode", '1'); /* IN6_ADDR_GEN_MODE_NONE */
    set(SETTINGS "accept_ra", '0');
    /* The address is unique, and usable at once. */
    set(SETTINGS "accept_dad", '0');
}

/* The gateway is the only neighbour. */
static void open_ipv6(void)
{
    struct in6_ifreq address = { .ifr6_prefixlen = 128 };
    struct in6_rtmsg route = { .rtmsg_flags = RTF_UP | RTF_GATEWAY,
                               .rtmsg_metric = 1024 };
    unsigned card = if_nametoindex(CARD);
    fd_auto int fd = open_socket(AF_INET6);

    address.ifr6_ifindex = (int)card;
    inet_pton(AF_INET6, NETWORK_LINK_GUEST6, &address.ifr6_addr);
    check(ioctl(fd, SIOCSIFADDR, &address), "the IPv6 address");
    route.rtmsg_ifindex = (int)card;
    inet_pton(AF_INET6, NETWORK_LINK_GATEWAY6, &route.rtmsg_gateway);
    check(ioctl(fd, SIOCADDRT, &route), "the IPv6 route");
}

/* ---- the card ------------------------------------------------------------ */

void network_open(int tap)
{
    static const unsigned char mac[] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };
    struct ifreq request = { .ifr_name = CARD };
    struct rtentry route = { .rt_flags = RTF_UP | RTF_GATEWAY };
    int fd = open_socket(AF_INET);
    bool v6;

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
    v6 = has_ipv6();
    if (v6)
        forbid_automatic_addresses();
    bring_up(fd, CARD);
    set_address(&route.rt_dst, "0.0.0.0");
    set_address(&route.rt_genmask, "0.0.0.0");
    set_address(&route.rt_gateway, NETWORK_LINK_GATEWAY);
    check(ioctl(fd, SIOCADDRT, &route), "the default route");
    close(fd);
    if (v6)
        open_ipv6();
}
