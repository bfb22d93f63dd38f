/* SPDX-License-Identifier: Apache-2.0
 *
 * audit_room - how many records of what a guest causes at will may follow.
 *
 * A number at first, and then so many a minute, up to that number again; the
 * older ones last for hours. Threads: one.
 */
#ifndef AGENT_SANDBOX_AUDIT_ROOM_H
#define AGENT_SANDBOX_AUDIT_ROOM_H

#include <glib.h>
#include <stdbool.h>

struct audit_room {
    unsigned most, per_minute;
    double records; /* that may follow */
    gint64 time;    /* when that was computed: monotonic, us */
};

/* now: monotonic, us. */
struct audit_room audit_room_new(unsigned most, unsigned per_minute,
                                 gint64 now);

/* Return whether a record may follow at this time, and count it. */
bool audit_room_take(struct audit_room *room, gint64 now);

#endif
