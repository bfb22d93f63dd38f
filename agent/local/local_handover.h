/* SPDX-License-Identifier: Apache-2.0
 *
 * local_handover - receive a message of stepback-local (local/wire.h).
 */
#ifndef AGENT_LOCAL_LOCAL_HANDOVER_H
#define AGENT_LOCAL_LOCAL_HANDOVER_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "local/wire.h"

struct local_handover {
    char type;                     /* of enum local_message; 0: the end */
    char text[LOCAL_MAX_TEXT + 1]; /* what failed */
    guint64 devices[LOCAL_MAX_FOLDERS];
    size_t n_devices; /* of LOCAL_READY */
    int fds[LOCAL_MAX_FOLDERS + 1];
    size_t n_fds;
};

/* Return false if no message has come yet. The caller closes the fds. */
bool local_handover_receive(int socket, struct local_handover *ret_message);

void local_handover_close_fds(struct local_handover *message);

#endif
