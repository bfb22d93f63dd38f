/* SPDX-License-Identifier: Apache-2.0
 *
 * restoring - changes that the engine itself makes to restore paths.
 *
 * They go through the one door, as a client's do, so that a step records them.
 * But they bring back what was there, for a caller who asked for that, as a
 * rollback does: so no safeguard asks about them, no grant is needed for them,
 * and they fail with -EFBIG rather than make their step unprotected.
 */
#ifndef INTERCEPTOR_RESTORING_H
#define INTERCEPTOR_RESTORING_H

#include <stdbool.h>

/* Mark this thread's changes as such, or as a client's. Return what they were
 * before. */
bool restoring_set(bool restoring);

bool restoring_is_set(void);

#endif
