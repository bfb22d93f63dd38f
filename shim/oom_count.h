/* SPDX-License-Identifier: Apache-2.0
 *
 * oom_count - the processes that the kernel killed because memory was used up.
 */
#ifndef SHIM_OOM_COUNT_H
#define SHIM_OOM_COUNT_H

#include <stdint.h>

/* Return their number since the kernel's start ("oom_kill" in /proc/vmstat,
 * since Linux 4.13), or 0 if it is unknown. */
uint64_t oom_count(void);

#endif
