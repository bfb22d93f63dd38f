/* SPDX-License-Identifier: Apache-2.0
 *
 * net_effect - does a step leave everything as it was, but for times?
 *
 * A program that writes a file anew with the content that it had (git status
 * and .git/index, say) makes a step with records, but not one that a user means
 * by "undo". Such a step stays in the history, because the records of older
 * steps refer to inodes by way of its own; undo passes over it when it counts.
 *
 * A file counts as the same if type, size, bytes, mode, owner, attributes and
 * number of links are; not by inode number, times or holes. A time that the
 * step set (touch) is a change, since programs such as make depend on it.
 */
#ifndef INTERCEPTOR_REPORT_NET_EFFECT_H
#define INTERCEPTOR_REPORT_NET_EFFECT_H

#include "interceptor/log/step.h"
#include "interceptor/report/survey.h"

/* Compare what the step kept with the tree. Stops at the first difference, and
 * after 64 MiB or 64 files in the pack, which counts as one. survey: of the
 * step, with metadata; root: of the share. */
bool net_effect_is_none(struct step *step, const struct survey *survey,
                        int blobs, int root);

#endif
