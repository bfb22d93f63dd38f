/* SPDX-License-Identifier: Apache-2.0
 *
 * overlap - has an edit from outside to do with what a step changed?
 *
 * By paths: those that the step's records lead to, as they were before it and
 * as it left them. An edit overlaps if it is at one of these, or above one (the
 * folder may have been renamed or removed), or below a name that the step
 * made, removed or renamed.
 *
 * What cannot be told overlaps: an edit whose paths are not all known, a step
 * that noted no end or one that changed a file which has more names than its
 * records know.
 */
#ifndef INTERCEPTOR_LOG_OVERLAP_H
#define INTERCEPTOR_LOG_OVERLAP_H

#include "interceptor/log/step.h"

struct overlap;

/* Of a step that was read from its folder dir. NULL: one that cannot be read;
 * then everything overlaps. */
struct overlap *overlap_new(const struct step *step, int dir);

bool overlap_has(const struct overlap *overlap,
                 const struct ic_barrier *barrier);

void overlap_free(struct overlap *overlap);
typedef struct overlap overlap_auto;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(overlap_auto, overlap_free)

#endif
