/* SPDX-License-Identifier: Apache-2.0
 *
 * connection_report - which connection it is, and what became of it.
 */
#ifndef PROXY_CONNECTION_REPORT_H
#define PROXY_CONNECTION_REPORT_H

#include <glib.h>
#include <stdbool.h>

#include "proxy/guest_check.h"

struct connection;

struct connection_target {
    gint64 id;
    char name[HOST_NAME_ROOM]; /* normalized */
    unsigned port;
    enum guest_check_kind kind;
    bool asked; /* a user has allowed it (asks.h) */
};

/* A connection that has ended, or is open: then refused is false and reason
 * NULL. The texts are borrowed. */
struct connection_report {
    const struct connection_target *target;
    const char *address; /* NULL: no server was connected */
    bool refused;
    const char *reason; /* NULL: an end has closed it */
    const char *allow;  /* the policy's entry that would allow it, or NULL */
    guint64 from_guest, to_guest;
    gint64 milliseconds;
};

/* Called once, not from within connection_new(); it must free the
 * connection. */
typedef void connection_ended(struct connection *connection,
                              const struct connection_report *report,
                              void *opaque);

#endif
