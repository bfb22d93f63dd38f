/* SPDX-License-Identifier: Apache-2.0
 *
 * net_effect - decide whether a step leaves everything but times unchanged.
 *
 * A program that rewrites a file with its former content (git status and
 * .git/index, for example) makes a step with records, but not one that a user
 * means by "undo". Such a step stays in the history, because records of older
 * steps refer to inodes through its records; undo skips it when it counts.
 *
 * A file counts as the same if type, size, bytes, mode, owner, attributes and
 * number of links are the same; inode number, times and holes do not matter. A
 * time that the step set (touch) is a change, since programs such as make
 * depend on it.
 */
#ifndef INTERCEPTOR_REPORT_NET_EFFECT_H
#define INTERCEPTOR_REPORT_NET_EFFECT_H

#include "interceptor/log/step.h"
#include "interceptor/report/survey.h"

/* Compare what the step saved with the tree. Returns false at the first
 * difference, and after 64 MiB or 64 files in the pack. survey: of the step,
 * with metadata; root: of the share. */
bool net_effect_is_none(struct step *step, const struct survey *survey,
                        int blobs, int root);

#endif
