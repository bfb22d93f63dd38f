/* SPDX-License-Identifier: Apache-2.0
 *
 * short_turns - shortens the time slice of a thread.
 */
#ifndef COMMON_SHORT_TURNS_H
#define COMMON_SHORT_TURNS_H

/* Request the shortest time slice that Linux grants, 100 us, for the calling
 * thread (sched_setattr(2), sched_runtime; Linux 6.12). The thread then runs as
 * soon as it is woken, even on the processor of the thread that wakes it, and
 * not only after that thread's slice. Its share of the processor does not grow.
 * Threads that it starts do not inherit this (nor a nice value below 0). No-op
 * on older kernels, and if the thread has a policy other than SCHED_OTHER.
 * Return 0 or -errno. */
int short_turns_take(void);

#endif
