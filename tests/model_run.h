/* SPDX-License-Identifier: Apache-2.0
 *
 * model_run - do a run's operations in a world and compare the tree with what
 * it must be after each of the frame's that takes something back.
 */
#ifndef TESTS_MODEL_RUN_H
#define TESTS_MODEL_RUN_H

#include <stdbool.h>

#include "tests/model_script.h"
#include "tests/world.h"

enum { MODEL_SLOTS = 8 };

struct model {
    struct world *w; /* borrowed; started */
    bool trace;
    GString *failure; /* empty: all is well */

    void *handles[MODEL_SLOTS]; /* open files, or NULL */

    int64_t step; /* the open step, or 0 */
    bool ambient; /* something was done outside of one */

    /* Snapshots: the tree before each step of the history, before the one that
     * is open, and as it is (NULL: it was changed since). */
    GPtrArray *before;
    GPtrArray *pending, *now;
};

/* The world is started here. */
struct model *model_new(struct world *world);
void model_free(struct model *model);

/* Do one operation. False: what came out is wrong; model->failure says how. */
bool model_run(struct model *model, const struct model_op *op);

/* The tree as it is. A new reference. */
GPtrArray *model_look(struct model *model);

/* In model_ops.c: a change of the tree. 0 or -errno. */
int model_change(struct model *model, const struct model_op *op);
void model_close_handles(struct model *model);

#endif
