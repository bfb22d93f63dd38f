/* SPDX-License-Identifier: Apache-2.0
 *
 * model_make - see model_make.h.
 */
#include "tests/model/model_make.h"

#include "tests/model/model_recipes.h"

enum { MAX_HISTORY = 40 }; /* steps */

struct maker *maker_new(struct model *model, guint32 seed)
{
    struct maker *k = g_new0(struct maker, 1);

    k->m = model;
    k->length = 1;
    k->rand = g_rand_new_with_seed(seed);
    k->long_name = g_strnfill(255, 'L');
    k->known = g_ptr_array_new_with_free_func(g_free);
    k->recent = g_ptr_array_new_with_free_func(g_free);
    return k;
}

void maker_free(struct maker *k)
{
    g_rand_free(k->rand);
    g_free(k->long_name);
    g_ptr_array_unref(k->known);
    g_ptr_array_unref(k->recent);
    g_free(k);
}

/* While a step is open. */
static void invent_end(struct maker *k, struct model_op *op)
{
    guint at = maker_pick(k, 100);

    op->kind = at < 86   ? MODEL_CLOSE
               : at < 90 ? MODEL_ABORT
               : at < 94 ? MODEL_CRASH
               : at < 96 ? MODEL_RESTART
               : at < 98 ? MODEL_UNDO
                         : MODEL_REDO;
    op->numbers[0] = 1;
}

static int64_t when(struct maker *k)
{
    return maker_pick(k, 3) ? MODEL_LIVE : maker_pick(k, MODEL_WHENS);
}

static void invent_edit(struct maker *k, struct model_op *op)
{
    guint at = maker_pick(k, 10);

    if (at < 5) {
        op->kind = MODEL_EDIT_NEW;
        op->names[0] = g_strdup_printf("outside-%u", ++k->edits);
        op->numbers[0] = maker_pick(k, 4);
        op->numbers[1] = when(k);
    } else if (at < 9) {
        op->kind = MODEL_EDIT_STEP;
        op->numbers[0] = maker_pick(k, 1000);
        op->numbers[1] = maker_pick(k, 5);
        op->numbers[2] = when(k);
    } else {
        op->kind = MODEL_EDIT_ANY;
        op->names[0] = maker_either(k);
        op->names[1] = maker_either(k);
        op->numbers[0] = maker_pick(k, 10);
        op->numbers[1] = when(k);
    }
}

/* No middle limit for the size of all steps: how many remain then depends on
 * the progress of compression, and the seed would not determine what comes
 * next. */
static void invent_limits(struct maker *k, struct model_op *op)
{
    static const int64_t counts[] = { 0, 0, -1, 1, 3, 8 };
    static const int64_t sizes[] = { -1, -1, 200 << 10, 40 << 10, 600 << 10 };

    op->kind = MODEL_LIMITS;
    op->numbers[0] = MAKER_PICK(k, counts);
    op->numbers[1] = MAKER_PICK(k, sizes);
    op->numbers[2] = maker_pick(k, 15) ? -1 : 1;
}

static void invent_undo(struct maker *k, struct model_op *op)
{
    op->kind = MODEL_UNDO;
    op->numbers[0] = maker_pick(k, 10) ? 1 + maker_pick(k, 4) : 100;
    op->numbers[1] = maker_pick(k, 4) ? MODEL_ASK : maker_pick(k, MODEL_FORCES);
}

static void invent_redo(struct maker *k, struct model_op *op)
{
    op->kind = MODEL_REDO;
    op->numbers[0] = maker_pick(k, 5) ? 1 + maker_pick(k, 3) : 100;
}

static void invent_file(struct maker *k, struct model_op *op)
{
    op->kind = MODEL_WRITE_FILE;
    op->names[0] = maker_pick(k, 3) ? maker_fresh(k) : maker_existing(k, 0);
    op->numbers[0] = maker_pick(k, 3) ? -1 : maker_mode(k);
    op->numbers[1] = maker_length(k);
    op->numbers[2] = maker_pick(k, 26);
    if (maker_pick(k, 4) == 0) {
        g_autofree char *folder = op->names[0];

        op->names[0] = g_strconcat(folder, "/new/file", NULL);
    }
}

/* Limits do not stay set for long, nor do walls. */
static bool is_time_for_limits(struct maker *k)
{
    const struct model *m = k->m;

    return maker_pick(k, m->limits.step >= 0 || m->limits.log >= 0 ? 10 : 30) ==
           0;
}

static void invent_frame(struct maker *k, struct model_op *op)
{
    static const guint lengths[] = { 2, 5, 20, 60 };
    guint history = k->m->steps->len, at;

    k->length = MAKER_PICK(k, lengths);
    if (history > MAX_HISTORY) {
        op->kind = MODEL_LIMITS;
        op->numbers[0] = MAX_HISTORY / 2;
    } else if (k->m->redos->len > 0 && maker_pick(k, 3) == 0) {
        invent_redo(k, op);
    } else if (is_time_for_limits(k)) {
        invent_limits(k, op);
    } else {
        at = maker_pick(k, 200);
        if (at < 40)
            invent_undo(k, op);
        else if (at < 44)
            invent_redo(k, op);
        else if (at < 60)
            invent_edit(k, op);
        else if (at < 70)
            invent_file(k, op);
        else
            op->kind = at < 75   ? MODEL_CRASH
                       : at < 80 ? MODEL_RESTART
                       : at < 81 ? MODEL_DISCARD
                                 : MODEL_STEP;
    }
}

/* Ambient steps have few changes. */
static gboolean is_time_for_frame(struct maker *k)
{
    return maker_pick(k, k->m->step ? k->length : 4) == 0 ||
           (!k->m->step && !k->m->ambient && maker_pick(k, 8));
}

struct model_op *maker_next(struct maker *k)
{
    struct model_op *op = g_new0(struct model_op, 1);

    maker_refresh(k);
    if (is_time_for_frame(k)) {
        (k->m->step ? invent_end : invent_frame)(k, op);
        return op;
    }
    maker_invent_change(k, op);
    return op;
}
