/* SPDX-License-Identifier: Apache-2.0
 *
 * line_stop - end the foreground job of a shell's terminal, as Ctrl-C does.
 *
 * The job gets SIGINT; if the line goes on, SIGINT again, SIGTERM and SIGKILL
 * follow, a grace period apart, except while the machine is held. Background
 * jobs go on, and so does the shell, unless it is in the foreground itself.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_LINE_STOP_H
#define AGENT_SESSION_LINE_STOP_H

#include "agent/session/held_timer.h"
#include "agent/machine/guest_channel.h"

/* Zero-initialized: idle. */
struct line_stop {
    struct guest_channel *guest;
    gint64 id;
    unsigned sent; /* signals */
    struct held_timer timer;
    void (*failed)(void *opaque);
    void *opaque;
};

/* Begin to end the job of this execution, which has a terminal. failed is
 * called a grace period after SIGKILL. */
void line_stop_begin(struct line_stop *stop, struct guest_channel *guest,
                     gint64 id, void (*failed)(void *opaque), void *opaque);

/* The line is over, or its execution. */
void line_stop_end(struct line_stop *stop);

void line_stop_hold(struct line_stop *stop, bool hold);

#endif
