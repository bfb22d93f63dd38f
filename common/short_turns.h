/* SPDX-License-Identifier: Apache-2.0
 *
 * short_turns - how long a thread runs before others may.
 */
#ifndef COMMON_SHORT_TURNS_H
#define COMMON_SHORT_TURNS_H

/* The calling thread asks for the shortest turns of the processor that Linux
 * grants, 100 us (sched_setattr(2), sched_runtime; Linux 6.12). Then it is run
 * as soon as it is woken, also where it shares a processor with who wakes it,
 * and not when that one's turn is over. It gets no more of the processor than
 * others for it. The threads that it makes do not inherit that (nor a nice
 * value below 0). Where another policy than SCHED_OTHER was chosen for it, and
 * on older kernels, nothing changes. 0 or -errno. */
int short_turns_take(void);

#endif
