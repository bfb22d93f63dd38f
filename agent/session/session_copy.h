/* SPDX-License-Identifier: Apache-2.0
 *
 * session_copy - copy files between the host and the guest.
 *
 * A copy is a tar stream between a client's fd and the guest. The supervisor
 * moves its bytes and never parses them. A copy is no step, and does not wait
 * for one: it concerns the machine's own disk, not the shared folders.
 */
#ifndef AGENT_SESSION_SESSION_COPY_H
#define AGENT_SESSION_SESSION_COPY_H

#include "agent/session/session.h"
#include "agent/machine/bulk_port.h"

/* The answer to session_copy(). */
struct copy_started {
    gint64 id;
    const char *socket; /* or NULL */
};

/* Start a copy (the request is borrowed for the call). fd (taken) is the
 * client's pipe or stream socket. If it is -1, the answer has the
 * path of a Unix stream socket to which the client connects, once, within
 * COPY_CONNECT_S seconds. The client sends the stream and shuts its end down,
 * or reads to the end of file; if it closes the connection earlier, the copy is
 * cancelled.
 *
 * The answer comes after the guest has accepted the path;
 * when the copy is over, SESSION_EVENT_COPY reports it. owner (or NULL)
 * identifies the client; it is only compared. Errors: those
 * of bulk_port.h, ERROR_NO_SESSION, and ERROR_INVALID_FIELD for a copy into a
 * shared folder. */
enum { COPY_CONNECT_S = 60 };
void session_copy(struct session *session, const struct bulk_request *request,
                  int fd, const void *owner, reply_done done, void *opaque);

#endif
