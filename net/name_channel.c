/* SPDX-License-Identifier: Apache-2.0
 *
 * name_channel - see name_channel.h.
 */
#include "net/name_channel.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"

static const char *const checks[] = {
    [NAME_WEB] = "web",
    [NAME_PORT] = "port",
    [NAME_RAW] = "raw",
};

static int send_with(int channel, char *text, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    struct iovec data = { text, strlen(text) };
    struct msghdr message = {
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };

    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    if (sendmsg(channel, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return -ECONNREFUSED;
    return 0;
}

int name_channel_open(struct name_channel *channel, const char *name,
                      unsigned port, enum network_name_verdict check)
{
    int pair[2], rc;
    /* A name has letters, digits, dots, hyphens and underscores only. */
    g_autofree char *text = g_strdup_printf(
        "{\"id\":%" PRIu64 ",\"name\":\"%s\",\"port\":%u,\"check\":\"%s\"}",
        channel->id + 1, name, port, checks[check]);

    if (channel->fd < 0)
        return -ECONNREFUSED;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   pair) < 0)
        return -errno;
    rc = send_with(channel->fd, text, pair[1]);
    fd_close(&pair[1]);
    if (rc < 0) {
        fd_close(&pair[0]);
        return rc;
    }
    channel->id++;
    return pair[0];
}
