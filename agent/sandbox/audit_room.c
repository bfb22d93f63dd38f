/* SPDX-License-Identifier: Apache-2.0
 *
 * audit_room - see audit_room.h.
 */
#include "agent/sandbox/audit_room.h"

struct audit_room audit_room_new(unsigned most, unsigned per_minute, gint64 now)
{
    return (struct audit_room){ most, per_minute, most, now };
}

bool audit_room_take(struct audit_room *room, gint64 now)
{
    double minutes = (double)(now - room->time) / (double)G_TIME_SPAN_MINUTE;

    room->time = now;
    room->records = MIN(room->records + minutes * room->per_minute, room->most);
    if (room->records < 1)
        return false;
    room->records--;
    return true;
}
