/* SPDX-License-Identifier: Apache-2.0
 *
 * held_timer - see held_timer.h.
 */
#include "agent/session/held_timer.h"

static gboolean on_timer(gpointer data)
{
    struct held_timer *timer = data;
    void (*func)(void *opaque) = timer->func;

    timer->source = 0;
    timer->func = NULL;
    func(timer->opaque);
    return G_SOURCE_REMOVE;
}

static void run(struct held_timer *timer, gint64 left_us)
{
    timer->end = g_get_monotonic_time() + left_us;
    timer->left = left_us;
    if (!timer->held)
        timer->source = g_timeout_add(
            (guint)CLAMP(left_us / 1000, 0, G_MAXUINT), on_timer, timer);
}

void held_timer_start(struct held_timer *timer, gint64 ms,
                      void (*func)(void *opaque), void *opaque)
{
    held_timer_stop(timer);
    timer->func = func;
    timer->opaque = opaque;
    run(timer, ms * 1000);
}

void held_timer_stop(struct held_timer *timer)
{
    g_clear_handle_id(&timer->source, g_source_remove);
    timer->func = NULL;
}

void held_timer_hold(struct held_timer *timer, bool hold)
{
    if (timer->held == hold)
        return;
    timer->held = hold;
    if (!timer->func)
        return;
    if (hold) {
        g_clear_handle_id(&timer->source, g_source_remove);
        timer->left = timer->end - g_get_monotonic_time();
    } else {
        run(timer, timer->left);
    }
}
