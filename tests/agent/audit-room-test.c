/* SPDX-License-Identifier: Apache-2.0
 *
 * audit-room-test - a guest fills no more of the record than it has room for.
 */
#include <glib.h>

#include "agent/sandbox/audit_room.h"

/* Return how many records may follow at this time. */
static unsigned take_all(struct audit_room *room, gint64 now)
{
    unsigned count = 0;

    while (count < 10000 && audit_room_take(room, now))
        count++;
    return count;
}

static void test_room(void)
{
    struct audit_room room = audit_room_new(1000, 2, G_TIME_SPAN_DAY);
    gint64 now = G_TIME_SPAN_DAY;

    g_assert_cmpuint(take_all(&room, now), ==, 1000);
    g_assert_cmpuint(take_all(&room, now + 20 * G_TIME_SPAN_SECOND), ==, 0);
    g_assert_cmpuint(take_all(&room, now + 40 * G_TIME_SPAN_SECOND), ==, 1);
    now += 10 * G_TIME_SPAN_MINUTE + 40 * G_TIME_SPAN_SECOND;
    g_assert_cmpuint(take_all(&room, now), ==, 20);
    g_assert_cmpuint(take_all(&room, now + 9 * G_TIME_SPAN_DAY), ==, 1000);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/audit-room/a number at first, then so many a minute",
                    test_room);
    return g_test_run();
}
