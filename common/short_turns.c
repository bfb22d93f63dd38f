/* SPDX-License-Identifier: Apache-2.0
 *
 * short_turns - see short_turns.h.
 */
#include "common/short_turns.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORT_TURN_NS 100000

/* SCHED_FLAG_RESET_ON_FORK */
#define NOT_INHERITED 1

/* As in sched_setattr(2), SCHED_ATTR_SIZE_VER0: newer C libraries define it in
 * <sched.h>, and older kernel headers conflict with that. */
struct scheduling {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period; /* in ns */
};

int short_turns_take(void)
{
    struct scheduling now = { 0 };

    if (syscall(SYS_sched_getattr, 0, &now, sizeof(now), 0) != 0)
        return -errno;
    if (now.policy != SCHED_OTHER || now.runtime == 0)
        return 0;
    now.flags |= NOT_INHERITED;
    now.runtime = SHORT_TURN_NS;
    return syscall(SYS_sched_setattr, 0, &now, 0) == 0 ? 0 : -errno;
}
