/* SPDX-License-Identifier: Apache-2.0
 *
 * renew - see renew.h.
 *
 * Random numbers come first: what follows may use some. The kernel may also
 * notice the continued state by itself (vmgenid), but later, by an interrupt.
 */
#include "shim/renew.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/guest.h"
#include "shim/late_root.h"
#include "shim/wire.h"

#define MACHINE_ID "/etc/machine-id"
#define CARD       "eth0"

static int add_entropy(const char *entropy)
{
    union {
        struct rand_pool_info info;
        char space[sizeof(struct rand_pool_info) + WIRE_ENTROPY];
    } pool = { { .entropy_count = WIRE_ENTROPY * 8,
                 .buf_size = WIRE_ENTROPY } };
    int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
    int result = 0;

    if (fd < 0)
        return -errno;
    memcpy(pool.info.buf, entropy, WIRE_ENTROPY);
    if (ioctl(fd, RNDADDENTROPY, &pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0)
        result = -errno;
    explicit_bzero(&pool, sizeof(pool));
    close(fd);
    return result;
}

/* An empty file, as images have it, counts as missing. */
static int write_machine_id(const char *id)
{
    char line[WIRE_MACHINE_ID + 2];
    int fd = open(MACHINE_ID, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0444);
    struct stat st;
    int len, result = 0;

    if (fd < 0)
        return -errno;
    len = snprintf(line, sizeof(line), "%s\n", id);
    if (fstat(fd, &st) < 0 ||
        (st.st_size == 0 && write(fd, line, (size_t)len) != len))
        result = -errno;
    close(fd);
    return result;
}

static bool set_address(struct sockaddr *place, const char *text)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    bool ok = inet_pton(AF_INET, text, &address.sin_addr) == 1;

    memcpy(place, &address, sizeof(address));
    return ok;
}

static bool set_mac(struct sockaddr *place, const char *text)
{
    unsigned char *at = (unsigned char *)place->sa_data;
    char rest;

    place->sa_family = ARPHRD_ETHER;
    return sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%c", at, at + 1,
                  at + 2, at + 3, at + 4, at + 5, &rest) == 6;
}

/* fd: any socket. */
static int set_card(int fd, const struct renewal *renewal)
{
    struct ifreq request = { .ifr_name = CARD };
    struct rtentry route = { .rt_flags = RTF_UP | RTF_GATEWAY };

    errno = EINVAL; /* of an address that cannot be parsed */
    if (!set_mac(&request.ifr_hwaddr, renewal->mac) ||
        ioctl(fd, SIOCSIFHWADDR, &request) < 0 ||
        !set_address(&request.ifr_addr, renewal->address) ||
        ioctl(fd, SIOCSIFADDR, &request) < 0 ||
        !set_address(&request.ifr_netmask, renewal->netmask) ||
        ioctl(fd, SIOCSIFNETMASK, &request) < 0 ||
        ioctl(fd, SIOCGIFFLAGS, &request) < 0)
        return -errno;
    request.ifr_flags |= IFF_UP;
    if (ioctl(fd, SIOCSIFFLAGS, &request) < 0 ||
        !set_address(&route.rt_dst, "0.0.0.0") ||
        !set_address(&route.rt_genmask, "0.0.0.0") ||
        !set_address(&route.rt_gateway, renewal->gateway) ||
        ioctl(fd, SIOCADDRT, &route) < 0)
        return -errno;
    return 0;
}

static int write_resolver(const char *dns)
{
    int fd = open("/etc/resolv.conf",
                  O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    int result = fd >= 0 && dprintf(fd, "nameserver %s\n", dns) > 0 ? 0
                                                                    : -errno;

    if (fd >= 0)
        close(fd);
    return result;
}

/* Without DHCP, whose programs would delay the first command. */
static int start_network(const struct renewal *renewal)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int result;

    if (fd < 0)
        return -errno;
    result = set_card(fd, renewal);
    close(fd);
    return result ? result : write_resolver(renewal->dns);
}

bool renew_apply(const struct renewal *renewal, bool *ret_changed, char *error,
                 size_t size)
{
    const char *what = "random numbers";
    int result = add_entropy(renewal->entropy);

    if (!result && strlen(renewal->machine_id) != WIRE_MACHINE_ID)
        result = -EINVAL;
    guest_set_clock(renewal->time_us, 0);
    *ret_changed = false;
    if (!result) {
        what = "root disk";
        result = late_root_enter(ret_changed);
    }
    if (!result) {
        what = MACHINE_ID;
        result = write_machine_id(renewal->machine_id);
    }
    if (!result && renewal->mac) {
        what = "network";
        result = start_network(renewal);
    }
    if (result)
        snprintf(error, size, "%s: %s", what, strerror(-result));
    return !result;
}
