/* SPDX-License-Identifier: Apache-2.0
 *
 * model_make - invent operations, one after another.
 *
 * Random paths seldom exist, so most are chosen from those that existed at the
 * last snapshot or were made since, and are looked up on the host. The tree is
 * kept small: a run spends its time on reading all of it.
 */
#ifndef TESTS_MODEL_MAKE_H
#define TESTS_MODEL_MAKE_H

#include "tests/model/model_run.h"

struct maker;

/* The model is borrowed. */
struct maker *maker_new(struct model *model, guint32 seed);
void maker_free(struct maker *maker);

/* Return the next operation; the caller owns it. */
struct model_op *maker_next(struct maker *maker);

#endif
