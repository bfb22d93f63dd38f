/* SPDX-License-Identifier: Apache-2.0
 *
 * model_history - see model_history.h.
 */
#include "tests/model/model_history.h"

#include <string.h>

#include "common/errors.h"
#include "tests/model/model_tree.h"

enum { HISTORY_LIMIT = 1000 };

static void step_free(gpointer data)
{
    struct model_step *step = data;

    g_clear_pointer(&step->before, g_ptr_array_unref);
    g_clear_pointer(&step->after, g_ptr_array_unref);
    g_free(step->loose);
    g_free(step);
}

GPtrArray *model_steps_new(void)
{
    return g_ptr_array_new_with_free_func(step_free);
}

void model_tree_set(GPtrArray **place, GPtrArray *tree)
{
    GPtrArray *old = *place;

    *place = tree ? g_ptr_array_ref(tree) : NULL;
    if (old)
        g_ptr_array_unref(old);
}

static struct model_step *step_at(GPtrArray *steps, guint i)
{
    return g_ptr_array_index(steps, i);
}

struct model_step *model_step_newest(GPtrArray *steps, guint i)
{
    return step_at(steps, steps->len - 1 - i);
}

void model_history_doubt(GPtrArray *steps)
{
    for (guint i = 0; i < steps->len; i++) {
        struct model_step *step = step_at(steps, i);

        step->unsure = true;
        model_tree_set(&step->before, NULL);
        model_tree_set(&step->after, NULL);
    }
}

void model_redos_drop(struct model *m, bool sure)
{
    if (sure)
        g_ptr_array_set_size(m->redos, 0);
    m->redo_unsure = !sure;
}

/* ---- the engine's history ------------------------------------------------ */

/* Return the history's steps, newest first; new. */
static json_t *history(struct model *m)
{
    json_t *answer, *steps;

    if (model_request(m, "history", json_pack("{s:i}", "limit", HISTORY_LIMIT),
                      &answer)) {
        model_fail(m, "history: refused\n");
        return json_array();
    }
    steps = json_incref(json_object_get(answer, "steps"));
    json_decref(answer);
    return steps;
}

static int64_t id_at(json_t *steps, size_t i)
{
    return json_integer_value(
        json_object_get(json_array_get(steps, i), "step_id"));
}

/* Return whether it may be the step that was open. */
static bool is_new(struct model *m, int64_t id)
{
    for (guint i = 0; i < m->steps->len; i++) {
        if (step_at(m->steps, i)->id == id)
            return false;
    }
    return m->step ? id == m->step : m->ambient && id < 0;
}

/* Return how many of the shown steps are new. Only an ambient step that has a
 * limit can have become several. */
static size_t count_new(struct model *m, json_t *shown)
{
    bool one = m->step || m->limits.step < 0;
    size_t most = one ? MIN(json_array_size(shown), 1) : json_array_size(shown);
    size_t count = 0;

    while (count < most && is_new(m, id_at(shown, count)))
        count++;
    return count;
}

bool model_history_has_new(struct model *m)
{
    json_t *steps = history(m);
    bool found = count_new(m, steps) > 0;

    json_decref(steps);
    return found;
}

static struct model_step *add(struct model *m, json_t *shown, GPtrArray *before,
                              GPtrArray *after)
{
    struct model_step *step = g_new0(struct model_step, 1);

    step->id = json_integer_value(json_object_get(shown, "step_id"));
    step->order = ++m->last_order;
    step->unprotected = json_is_true(json_object_get(shown, "unprotected"));
    step->linked = m->linked;
    model_tree_set(&step->before, before);
    model_tree_set(&step->after, after);
    g_ptr_array_add(m->steps, step);
    if (step->unprotected && m->limits.step < 0 && m->limits.log < 0)
        model_fail(m, "step %" G_GINT64_FORMAT " is unprotected\n", step->id);
    return step;
}

/* Add the first count of the shown steps. An ambient step ends before it
 * exceeds its limit (ambient.h): the tree between its parts is not known. */
static void add_new(struct model *m, json_t *shown, size_t count)
{
    g_autoptr(GPtrArray) now = model_look(m);

    for (size_t i = count; i-- > 0;) {
        struct model_step *step = add(m, json_array_get(shown, i),
                                      i == count - 1 ? m->pending : NULL,
                                      i == 0 ? now : NULL);

        step->unsure = count > 1;
    }
    g_clear_pointer(&m->places, g_hash_table_unref);
    m->places = g_steal_pointer(&m->pending_places);
    m->places_id = count == 1 ? id_at(shown, 0) : 0;
}

/* The remaining steps are the newest. */
static void compare(struct model *m, json_t *shown)
{
    size_t count = json_array_size(shown);

    for (size_t i = 0; i < count; i++) {
        struct model_step *step = model_step_newest(m->steps, (guint)i);

        if (step->id != id_at(shown, i))
            model_fail(m,
                       "the history has step %" G_GINT64_FORMAT
                       ", not %" G_GINT64_FORMAT "\n",
                       (gint64)id_at(shown, i), step->id);
        if (step->unprotected != json_is_true(json_object_get(
                                     json_array_get(shown, i), "unprotected")))
            model_fail(m, "step %" G_GINT64_FORMAT ": unprotected?\n",
                       step->id);
    }
}

/* Return how many of the oldest steps must go so that neither commands nor
 * ambient steps exceed the limit. */
static guint count_over(struct model *m)
{
    int64_t ambient = 0, commands = 0;
    guint i = m->steps->len;

    while (m->limits.count >= 0 && i > 0) {
        bool is_ambient = step_at(m->steps, i - 1)->id < 0;

        ambient += is_ambient;
        commands += !is_ambient;
        if (MAX(ambient, commands) > m->limits.count)
            break;
        i--;
    }
    return m->limits.count < 0 ? 0 : i;
}

static void check_evicted(struct model *m, guint evicted,
                          enum model_evicts evicts, bool added)
{
    bool applied = evicts == MODEL_EVICTS_ALWAYS ||
                   (evicts == MODEL_EVICTS_STEP && added);
    guint least = applied ? count_over(m) : 0;

    if (evicted < least || (evicted > least && !(evicts != MODEL_EVICTS_NONE &&
                                                 m->limits.log >= 0)))
        model_fail(m, "%u steps were forgotten of %u, not %u\n", evicted,
                   m->steps->len, least);
}

/* A step that changed something is kept. */
static void check_dropped(struct model *m)
{
    if ((m->step || m->ambient) && m->pending && m->limits.log < 0)
        model_expect(m, "a step that was dropped", m->pending, NULL);
}

void model_history_sync(struct model *m, enum model_evicts evicts)
{
    json_t *shown = history(m);
    guint count = (guint)json_array_size(shown);
    size_t added = count_new(m, shown);

    if (added > 0)
        add_new(m, shown, added);
    else
        check_dropped(m);
    m->step = 0;
    m->ambient = false;
    if (count > m->steps->len) {
        model_fail(m, "the history has %u steps, not %u\n", count,
                   m->steps->len);
    } else {
        compare(m, shown);
        check_evicted(m, m->steps->len - count, evicts, added > 0);
        g_ptr_array_remove_range(m->steps, 0, m->steps->len - count);
    }
    json_decref(shown);
}

guint model_history_popped(struct model *m, guint count)
{
    json_t *shown = history(m);
    guint left = (guint)json_array_size(shown);
    guint popped = left > m->steps->len ? 0 : m->steps->len - left;

    if (left > m->steps->len || popped > count)
        model_fail(m, "the history has %u steps after an undo of %u of %u\n",
                   left, count, m->steps->len);
    json_decref(shown);
    return MIN(popped, count);
}
