/* SPDX-License-Identifier: Apache-2.0
 *
 * model_shrink - see model_shrink.h.
 */
#include "tests/model/model_shrink.h"

#include <string.h>

struct shrinker {
    model_fails *fails;
    void *opaque;
    GPtrArray *ops;
    const char *failure; /* the failure to reproduce */
    gint64 end;          /* monotonic time */
    guint tries;
};

/* Copy all but count operations from first on. */
static GPtrArray *without(GPtrArray *ops, guint first, guint count)
{
    GPtrArray *rest = g_ptr_array_new_with_free_func(model_op_free);

    for (guint i = 0; i < ops->len; i++) {
        g_autofree char *text = NULL;

        if (i >= first && i - first < count)
            continue;
        text = model_op_to_text(g_ptr_array_index(ops, i));
        g_autoptr(GPtrArray) copy = model_script_parse(text);
        g_ptr_array_extend_and_steal(rest, g_steal_pointer(&copy));
    }
    return rest;
}

static bool time_is_up(const struct shrinker *s)
{
    return g_get_monotonic_time() > s->end;
}

/* Do not follow a different failure: the first word decides. */
static bool is_alike(const char *a, const char *b)
{
    size_t len = strcspn(a, " :");

    return strncmp(a, b, len) == 0;
}

/* Remove these if it still fails without them. */
static bool leave_out(struct shrinker *s, guint first, guint count)
{
    GPtrArray *rest = without(s->ops, first, count);
    g_autofree char *failure = NULL;

    s->tries++;
    if (!s->fails(rest, &failure, s->opaque) ||
        !is_alike(failure, s->failure)) {
        g_ptr_array_unref(rest);
        return false;
    }
    g_ptr_array_set_size(s->ops, 0);
    g_ptr_array_extend_and_steal(s->ops, rest);
    return true;
}

/* Remove runs of count operations, from the end: later ones depend on earlier
 * ones. */
static bool leave_out_runs(struct shrinker *s, guint count)
{
    bool any = false;
    guint at = s->ops->len;

    while (at > 0 && !time_is_up(s)) {
        guint first = at > count ? at - count : 0;

        any |= leave_out(s, first, at - first);
        at = MIN(first, s->ops->len);
    }
    return any;
}

/* From one operation of the frame to the next. */
static void leave_out_steps(struct shrinker *s)
{
    guint end = s->ops->len;

    while (end > 0 && !time_is_up(s)) {
        guint first = end - 1;

        while (first > 0 &&
               !model_op_is_frame(g_ptr_array_index(s->ops, first)))
            first--;
        leave_out(s, first, end - first);
        end = MIN(first, s->ops->len);
    }
}

guint model_shrink(GPtrArray *ops, const char *failure, guint seconds,
                   model_fails *fails, void *opaque)
{
    struct shrinker s = {
        .fails = fails,
        .opaque = opaque,
        .ops = ops,
        .failure = failure,
        .end = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC,
    };

    for (guint count = ops->len / 2; count >= 64; count /= 2)
        leave_out_runs(&s, count);
    leave_out_steps(&s);
    for (guint count = 32; count > 1; count /= 2)
        leave_out_runs(&s, count);
    while (leave_out_runs(&s, 1) && !time_is_up(&s))
        ;
    return s.tries;
}
