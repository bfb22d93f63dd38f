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
#include "common/fd_message.h"

static const char *const checks[] = {
    [NAME_ASK] = "ask",   [NAME_INTERCEPT] = "http", [NAME_WEB] = "web",
    [NAME_PORT] = "port", [NAME_RAW] = "raw",
};

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
    rc = fd_message_send(channel->fd, text, strlen(text), &pair[1], 1,
                         MSG_DONTWAIT);
    fd_close(&pair[1]);
    if (rc < 0) {
        fd_close(&pair[0]);
        return -ECONNREFUSED;
    }
    channel->id++;
    return pair[0];
}
