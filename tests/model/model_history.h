/* SPDX-License-Identifier: Apache-2.0
 *
 * model_history - the model's steps, and their undo.
 */
#ifndef TESTS_MODEL_HISTORY_H
#define TESTS_MODEL_HISTORY_H

#include "tests/model/model_run.h"

enum model_evicts {
    MODEL_EVICTS_NONE,
    MODEL_EVICTS_STEP,   /* if there is a new step */
    MODEL_EVICTS_ALWAYS, /* limits were set */
};

GPtrArray *model_steps_new(void);

/* Return whether the history has the step that was open last. */
bool model_history_has_new(struct model *model);

/* Compare the model's steps with the engine's. Add one that was open and has
 * ended; remove those that the limits allow to be evicted. */
void model_history_sync(struct model *model, enum model_evicts evicts);

void model_undo(struct model *model, int64_t wanted, enum model_force force);
void model_redo(struct model *model, int64_t wanted);

/* Return a step, counted from the newest, which is 0. */
struct model_step *model_step_newest(GPtrArray *steps, guint i);

/* Replace a step's tree. tree: borrowed, or NULL. */
void model_tree_set(GPtrArray **place, GPtrArray *tree);

/* Return how many of the newest count steps the engine no longer has. */
guint model_history_popped(struct model *model, guint count);

/* The tree has changed, or may have: no redo. */
void model_redos_drop(struct model *model, bool sure);

/* The knowledge of all steps is unreliable. */
void model_history_doubt(GPtrArray *steps);

#endif
