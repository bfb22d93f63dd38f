/* SPDX-License-Identifier: Apache-2.0
 *
 * local_handover - see local_handover.h.
 */
#include "agent/local/local_handover.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/fd_message.h"

bool local_handover_receive(int socket, struct local_handover *ret_message)
{
    struct local_handover message = { 0 };
    char text[LOCAL_MAX_TEXT + 1] = { 0 };
    struct fd_room room = { message.fds, G_N_ELEMENTS(message.fds), 0 };
    ssize_t n = fd_message_receive(socket, text, LOCAL_MAX_TEXT, MSG_DONTWAIT,
                                   &room);

    if (n == -EAGAIN || n == -EINTR)
        return false;
    message.n_fds = room.count;
    message.type = text[0];
    memcpy(message.text, text + 1, sizeof(text) - 1);
    if (message.type == LOCAL_READY)
        message.n_devices = MIN((size_t)(n - 1) / sizeof(guint64),
                                G_N_ELEMENTS(message.devices));
    memcpy(message.devices, text + 1, message.n_devices * sizeof(guint64));
    *ret_message = message;
    return true;
}

void local_handover_close_fds(struct local_handover *message)
{
    while (message->n_fds > 0)
        fd_close(&message->fds[--message->n_fds]);
}
