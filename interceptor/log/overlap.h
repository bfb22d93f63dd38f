/* SPDX-License-Identifier: Apache-2.0
 *
 * overlap - decide whether an outside edit concerns a step's changes.
 *
 * Compares paths: those in the step's records, as they were before and after
 * the step. An edit overlaps if it is at one of these, above one (the folder
 * may have been renamed or removed), or below a name that the step made,
 * removed or renamed.
 *
 * If in doubt, an edit overlaps: when some paths of the edit are unknown, when
 * the step recorded no end, or when the step changed a file that has more names
 * than its records know.
 */
#ifndef INTERCEPTOR_LOG_OVERLAP_H
#define INTERCEPTOR_LOG_OVERLAP_H

#include "interceptor/log/step.h"

struct overlap;

/* Make the set for a step that was read from its folder dir. step NULL: it is
 * unreadable, so everything overlaps. */
struct overlap *overlap_new(const struct step *step, int dir);

bool overlap_has(const struct overlap *overlap,
                 const struct ic_barrier *barrier);

void overlap_free(struct overlap *overlap);
typedef struct overlap overlap_auto;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(overlap_auto, overlap_free)

#endif
