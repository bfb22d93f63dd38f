/* SPDX-License-Identifier: Apache-2.0
 *
 * model_make - invent operations, one after another.
 *
 * Random paths seldom exist, so most are chosen from those that did when the
 * last snapshot was made, or were made since, and are looked up on the host.
 * The tree is kept small: reading all of it is what a run spends its time on.
 */
#ifndef TESTS_MODEL_MAKE_H
#define TESTS_MODEL_MAKE_H

#include "tests/model/model_run.h"

struct maker;

/* The model is borrowed. */
struct maker *maker_new(struct model *model, guint32 seed);
void maker_free(struct maker *maker);

/* The next operation; the caller's. */
struct model_op *maker_next(struct maker *maker);

#endif
