/* SPDX-License-Identifier: Apache-2.0
 *
 * restoring - the engine's own changes that restore paths.
 *
 * They go through the mutation layer like a client's, so that a step records
 * them. But they restore a former state on request, like a rollback: so no
 * safeguard asks about them, they need no grant, and they fail with -EFBIG
 * instead of making their step unprotected.
 */
#ifndef INTERCEPTOR_RESTORING_H
#define INTERCEPTOR_RESTORING_H

#include <stdbool.h>

/* Mark this thread's changes as such, or as a client's. Returns the former
 * value. */
bool restoring_set(bool restoring);

bool restoring_is_set(void);

#endif
