/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_guard - outlive a front-end that takes back memory it has shared.
 *
 * A file that is cut short under a mapping makes each access beyond its end a
 * SIGBUS. QEMU seals its memfd against that (F_SEAL_SHRINK), other files cannot
 * be sealed, and who connects may be anybody. So where guest memory is gone,
 * all of its mapping becomes zeros, which go nowhere; what is read there is
 * nonsense that was not to be trusted anyway, and rings stop when they see that
 * it happened.
 *
 * Threads: add and remove by one thread at a time; the others by any.
 */
#ifndef VIRTIOFS_VHOST_FAULT_GUARD_H
#define VIRTIOFS_VHOST_FAULT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Ranges at a time. */
enum { FAULT_GUARD_MAX = 258 };

/* A shared mapping; its start and length are multiples of its pages' size.
 * False: there are too many. */
bool fault_guard_add(void *start, size_t len);

/* Before it is unmapped. */
void fault_guard_remove(void *start);

/* Has memory been lost since the first mapping that is there now? */
bool fault_guard_tripped(void);

#endif
