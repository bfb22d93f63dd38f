/* SPDX-License-Identifier: Apache-2.0
 *
 * backend_notify - the supervisor's end of a file server's --notify-fd
 * (virtiofs/fuse/notify_peer.h).
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MACHINE_BACKEND_NOTIFY_H
#define AGENT_MACHINE_BACKEND_NOTIFY_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

struct backend_notify;

/* refresh: the guest must look again at names; message (borrowed) has the
 * members "id", which is id, "unused" and "names". One at a time. Return NULL
 * if no socket can be made. */
struct backend_notify *
backend_notify_new(void (*refresh)(gint64 id, json_t *message, void *opaque),
                   void *opaque);

/* NULL is allowed, here and below. */
void backend_notify_free(struct backend_notify *notify);

/* The fd for the server, until the next call; -1: none. */
int backend_notify_peer(const struct backend_notify *notify);

/* The server has been started. */
void backend_notify_close_peer(struct backend_notify *notify);

/* The guest can be told: it may keep names for long. */
void backend_notify_keep(struct backend_notify *notify);

/* The guest is paused, or runs again. */
void backend_notify_pause(struct backend_notify *notify, bool paused);

/* The guest has looked at the names of this id; not ok: it could not. Return
 * false if no such message is pending. */
bool backend_notify_told(struct backend_notify *notify, gint64 id, bool ok);

#endif
