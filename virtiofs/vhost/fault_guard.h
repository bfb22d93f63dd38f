/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_guard - survives a front-end that truncates memory it has shared.
 *
 * Truncating a file under a mapping makes each access beyond the new end a
 * SIGBUS. QEMU seals its memfd against that (F_SEAL_SHRINK), but other files
 * cannot be sealed, and any program may connect. So a mapping that lost memory
 * is replaced by private zero pages as a whole: writes go nowhere, reads return
 * data that is untrusted in any case, and rings stop when they see that it
 * happened.
 *
 * Threads: one thread at a time may add and remove; any thread may make the
 * other calls.
 */
#ifndef VIRTIOFS_VHOST_FAULT_GUARD_H
#define VIRTIOFS_VHOST_FAULT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* The maximum number of concurrent ranges. */
enum { FAULT_GUARD_MAX = 258 };

/* Guard a shared mapping; its start and length are multiples of its page size.
 * Return false if there are too many. */
bool fault_guard_add(void *start, size_t len);

/* Call it before the mapping is unmapped. */
void fault_guard_remove(void *start);

/* Return whether memory has been lost; reset when a first range is added. */
bool fault_guard_tripped(void);

#endif
