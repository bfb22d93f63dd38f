/* SPDX-License-Identifier: Apache-2.0
 *
 * line_stop - see line_stop.h.
 */
#include "agent/session/line_stop.h"

#include <signal.h>

#include "shim/wire.h"

/* The first SIGINT is lost if it comes between two jobs of the line. */
static const struct {
    int number, ms; /* until the next one */
} signals[] = {
    { SIGINT, 1000 },
    { SIGINT, WIRE_CANCEL_GRACE_MS },
    { SIGTERM, WIRE_CANCEL_GRACE_MS },
    { SIGKILL, WIRE_CANCEL_GRACE_MS },
};

static void next(void *opaque)
{
    struct line_stop *stop = opaque;

    if (stop->sent == G_N_ELEMENTS(signals)) {
        stop->failed(stop->opaque);
        return;
    }
    guest_channel_signal(stop->guest, stop->id, signals[stop->sent].number);
    held_timer_start(&stop->timer, signals[stop->sent++].ms, next, stop);
}

void line_stop_begin(struct line_stop *stop, struct guest_channel *guest,
                     gint64 id, void (*failed)(void *opaque), void *opaque)
{
    stop->guest = guest;
    stop->id = id;
    stop->sent = 0;
    stop->failed = failed;
    stop->opaque = opaque;
    next(stop);
}

void line_stop_end(struct line_stop *stop)
{
    held_timer_stop(&stop->timer);
}

void line_stop_hold(struct line_stop *stop, bool hold)
{
    held_timer_hold(&stop->timer, hold);
}
