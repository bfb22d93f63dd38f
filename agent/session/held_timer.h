/* SPDX-License-Identifier: Apache-2.0
 *
 * held_timer - a timer that is suspended while the machine is held.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_HELD_TIMER_H
#define AGENT_SESSION_HELD_TIMER_H

#include <glib.h>
#include <stdbool.h>

/* Zero-initialized: not armed. */
struct held_timer {
    guint source;               /* 0 while it is suspended */
    void (*func)(void *opaque); /* NULL: not armed, even after a hold */
    void *opaque;
    gint64 end, left; /* us; left applies while held */
    bool held;
};

/* Call func once after ms, instead of what was armed before. */
void held_timer_start(struct held_timer *timer, gint64 ms,
                      void (*func)(void *opaque), void *opaque);

void held_timer_stop(struct held_timer *timer);

/* Suspend or resume it, armed or not. */
void held_timer_hold(struct held_timer *timer, bool hold);

#endif
