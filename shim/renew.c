/* SPDX-License-Identifier: Apache-2.0
 *
 * renew - see renew.h.
 *
 * Random numbers come first: what follows may use some. The kernel may also
 * notice the continued state by itself (vmgenid), but later, by an interrupt.
 */
#include "shim/renew.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/guest.h"
#include "shim/wire.h"

#define MACHINE_ID "/etc/machine-id"
#define CARD       "eth0"

/* The image's init writes it, if the network is not up. */
#define NETWORK_SCRIPT "/run/stepback-network"

static int add_entropy(const char *entropy)
{
    struct {
        struct rand_pool_info info;
        char bytes[WIRE_ENTROPY];
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

/* A card that is up refuses another address. */
static int set_address(const unsigned char *address)
{
    struct ifreq request = { .ifr_name = CARD };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int result = 0;

    if (fd < 0)
        return -errno;
    request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    memcpy(request.ifr_hwaddr.sa_data, address, 6);
    if (ioctl(fd, SIOCSIFHWADDR, &request) < 0)
        result = -errno;
    close(fd);
    return result;
}

/* In the background: commands wait for it (spawn.c). */
static int start_network(void)
{
    int fd = open(GUEST_NETWORK_PENDING, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    pid_t pid;

    if (fd < 0)
        return -errno;
    close(fd);
    pid = fork();
    if (pid == 0) {
        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execlp("busybox", "busybox", "sh", NETWORK_SCRIPT, (char *)NULL);
        unlink(GUEST_NETWORK_PENDING);
        _exit(127);
    }
    return pid < 0 ? -errno : 0;
}

static int begin_network(const char *mac)
{
    unsigned char address[6];
    char rest;
    int result;

    if (sscanf(mac, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%c", &address[0],
               &address[1], &address[2], &address[3], &address[4], &address[5],
               &rest) != 6)
        return -EINVAL;
    if (access(NETWORK_SCRIPT, R_OK) < 0)
        return -errno;
    result = set_address(address);
    return result ? result : start_network();
}

bool renew_apply(const struct renewal *renewal, char *error, size_t size)
{
    const char *what = "random numbers";
    int result = add_entropy(renewal->entropy);

    if (!result && strlen(renewal->machine_id) != WIRE_MACHINE_ID)
        result = -EINVAL;
    guest_set_clock(renewal->time_us, 0);
    if (!result) {
        what = MACHINE_ID;
        result = write_machine_id(renewal->machine_id);
    }
    if (!result && renewal->mac) {
        what = "network";
        result = begin_network(renewal->mac);
    }
    if (result)
        snprintf(error, size, "%s: %s", what, strerror(-result));
    return !result;
}
