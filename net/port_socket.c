/* SPDX-License-Identifier: Apache-2.0
 *
 * port_socket - see port_socket.h.
 */
#include "net/port_socket.h"

#include <sys/socket.h>

#include "common/errors.h"
#include "common/fd_message.h"

int port_socket_receive(int channel, GError **error)
{
    char byte;
    int fd = -1;
    struct fd_room room = { &fd, 1, 0 };

    fd_message_receive(channel, &byte, sizeof(byte), MSG_DONTWAIT, &room);
    if (fd < 0)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                            "published port: no socket was received");
    return fd;
}
