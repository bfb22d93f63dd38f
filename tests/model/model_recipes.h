/* SPDX-License-Identifier: Apache-2.0
 *
 * model_recipes - invent changes of the tree, their paths and numbers.
 */
#ifndef TESTS_MODEL_RECIPES_H
#define TESTS_MODEL_RECIPES_H

#include "tests/model/model_run.h"

struct maker {
    struct model *m;
    GRand *rand;
    char *long_name;
    GPtrArray *known;  /* paths of the last snapshot */
    GPtrArray *recent; /* paths of what was made since, in a ring */
    guint next_recent;
    unsigned seen; /* number of the snapshot in .known */
    unsigned edits;
    guint length; /* of the open step, on average */
};

/* Return a number below. */
guint maker_pick(struct maker *k, guint below);

#define MAKER_PICK(k, list) ((list)[maker_pick(k, G_N_ELEMENTS(list))])

/* Read the paths of the last snapshot. */
void maker_refresh(struct maker *k);

/* Return a path (new): of this type, 0 for any; not used yet; or one of both.
 */
char *maker_existing(struct maker *k, mode_t type);
char *maker_fresh(struct maker *k);
char *maker_either(struct maker *k);

/* Return a file's length or mode. */
int64_t maker_length(struct maker *k);
int64_t maker_mode(struct maker *k);

/* Choose a change with its arguments. */
void maker_invent_change(struct maker *k, struct model_op *op);

#endif
