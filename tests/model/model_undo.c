/* SPDX-License-Identifier: Apache-2.0
 *
 * model_undo - the model's undo and redo; see model_history.h.
 */
#include <string.h>

#include "common/errors.h"
#include "tests/model/model_history.h"
#include "tests/model/model_tree.h"

static GPtrArray *ref(GPtrArray *tree)
{
    return tree ? g_ptr_array_ref(tree) : NULL;
}

/* ---- undo ---------------------------------------------------------------- */

/* Return whether a file of the tree may have had several names. tree: NULL if
 * it is not known. */
static bool may_have_links(const GPtrArray *tree)
{
    for (guint i = 0; tree && i < tree->len; i++) {
        if (strstr(g_ptr_array_index(tree, i), " same-as:"))
            return true;
    }
    return !tree;
}

/* Return whether the watcher saw an edit that may overlap one of the newest
 * count steps. For a step that is not edited this requires that its records may
 * lack names of its files (overlap.h): earlier ones may have removed such a
 * name, and the log holds its file for a while. */
static bool any_barrier(struct model *m, GPtrArray *steps, guint count)
{
    guint barriers = m->barriers->len;
    guint64 last = barriers > 0
                       ? g_array_index(m->barriers, guint64, barriers - 1)
                       : 0;

    for (guint i = 0; i < count; i++) {
        const struct model_step *step = model_step_newest(steps, i);

        if (step->order < last &&
            (step->edited || step->unsure || m->ever_linked ||
             may_have_links(step->before) || may_have_links(step->after)))
            return true;
    }
    return false;
}

/* Return the number of steps, from the newest, before one that is edited, or
 * may be; count: there is none. */
static guint before_edited(GPtrArray *steps, guint count, bool unsure_too)
{
    for (guint i = 0; i < count; i++) {
        const struct model_step *step = model_step_newest(steps, i);

        if (step->edited || (unsure_too && step->unsure))
            return i;
    }
    return count;
}

/* Check that the rules allow the reply and the effect. */
static void check_answer(struct model *m, const char *what, GPtrArray *steps,
                         guint count, bool force, int code, guint done)
{
    bool barrier = !force && any_barrier(m, steps, count);
    guint most = force ? count : before_edited(steps, count, false);

    if (code == 0 && (most < count || done < count))
        model_fail(m, "%s of %u: %u done%s\n", what, count, done,
                   most < count ? ", over an edit" : "");
    if (code == 0)
        return;
    if (code != ERROR_UNDO_BARRIER || force)
        model_fail(m, "%s of %u%s: error %d: %s\n", what, count,
                   force ? " by force" : "", code, m->said);
    else if (!(barrier && done == 0) &&
             (done >= count || !(model_step_newest(steps, done)->edited ||
                                 model_step_newest(steps, done)->unsure)))
        model_fail(m, "%s of %u: refused after %u, for no reason: %s\n", what,
                   count, done, m->said);
}

/* The newest step was undone: move it. over: by force over what was edited. */
static void pop(struct model *m, GPtrArray *after, bool over)
{
    struct model_step *step = g_ptr_array_steal_index(m->steps,
                                                      m->steps->len - 1);

    model_tree_set(&step->after, after);
    step->order = ++m->last_order;
    step->edited = step->unsure = false;
    g_clear_pointer(&step->loose, g_free);
    g_ptr_array_add(m->redos, step);
    m->redo_unsure |= over || m->limits.step >= 0 || m->limits.log >= 0;
    m->places_id = 0;
}

/* If a part of the tree is not exactly as before, all older snapshots are
 * unknown from here on. */
static void settle_loose(struct model *m, GPtrArray *wanted, const char *loose)
{
    g_autoptr(GPtrArray) now = model_look(m);
    g_autofree char *diff = wanted ? model_tree_diff(wanted, now, NULL) : NULL;

    model_expect(m, "undo by force", wanted, loose);
    if (diff)
        model_history_doubt(m->steps);
    if (diff && m->redos->len > 0)
        model_tree_set(&model_step_newest(m->redos, 0)->before, NULL);
}

/* Request the undo of count steps; returns how many remain to be undone. */
static guint take_back(struct model *m, guint count, bool force)
{
    g_autoptr(GPtrArray) was = model_look(m), wanted = NULL;
    g_autofree char *loose = NULL;
    bool over = before_edited(m->steps, count, true) < count;
    int code = model_request(
        m, "rollback",
        json_pack("{s:i, s:b}", "steps", (int)count, "force", force), NULL);
    guint done = model_history_popped(m, count);

    check_answer(m, "undo", m->steps, count, force, code, done);
    wanted = ref(was);
    over = over && (force || code == 0) && done > 0;
    for (guint i = 0; i < done; i++) {
        struct model_step *step = model_step_newest(m->steps, 0);
        g_autoptr(GPtrArray) after = g_steal_pointer(&wanted);

        wanted = ref(step->before);
        g_free(loose);
        loose = g_strdup(step->loose);
        pop(m, after, over);
    }
    model_forget_now(m);
    if (loose)
        settle_loose(m, wanted, loose);
    else
        model_expect(m, code ? "an undo that was refused" : "undo", wanted,
                     NULL);
    for (guint i = 0; over && i < m->steps->len; i++)
        ((struct model_step *)g_ptr_array_index(m->steps, i))->unsure = true;
    return count - done;
}

static bool has_loose(struct model *m, guint count)
{
    for (guint i = 0; i < count; i++) {
        if (model_step_newest(m->steps, i)->loose)
            return true;
    }
    return false;
}

/* Return how many of the newest steps are above a wall; beyond it nothing can
 * be undone, even by force. */
static guint above_wall(struct model *m, guint count, bool force)
{
    guint above = 0;

    while (above < count && !model_step_newest(m->steps, above)->unprotected)
        above++;
    if (above == count)
        return count;
    model_expect_code(m, "undo of an unprotected step",
                      model_request(m, "rollback",
                                    json_pack("{s:i, s:b}", "steps",
                                              (int)above + 1, "force", force),
                                    NULL),
                      ERROR_STEP_UNPROTECTED);
    return above;
}

/* Assert that it is refused with this code and changes nothing. */
static void refused(struct model *m, const char *what, int code)
{
    g_autoptr(GPtrArray) was = model_look(m);

    model_expect_code(
        m, what, model_request(m, what, json_pack("{s:i}", "steps", 1), NULL),
        code);
    model_forget_now(m);
    model_expect(m, what, was, NULL);
}

void model_undo(struct model *m, int64_t wanted, enum model_force force)
{
    guint count;

    if (m->step) {
        refused(m, "rollback", ERROR_STEP_ACTIVE);
        return;
    }
    model_end_ambient(m);
    if (m->steps->len == 0) {
        refused(m, "rollback", ERROR_NOTHING_TO_UNDO);
        return;
    }
    count = (guint)CLAMP(wanted, 0, (int64_t)m->steps->len);
    count = above_wall(m, count, force == MODEL_FORCE);
    if (count == 0)
        return;
    count = take_back(m, count, force == MODEL_FORCE && !has_loose(m, count));
    while (count > 0 && force != MODEL_ASK_ONLY && m->failure->len == 0)
        count -= 1 - take_back(m, 1, true);
}

/* ---- redo ---------------------------------------------------------------- */

/* The next redo's step is in the tree again. */
static void push(struct model *m, GPtrArray *before)
{
    struct model_step *step = g_ptr_array_steal_index(m->redos,
                                                      m->redos->len - 1);

    model_tree_set(&step->before, before);
    step->order = ++m->last_order;
    step->edited = false;
    g_ptr_array_add(m->steps, step);
    m->places_id = 0;
}

/* Limit wanted to the existing redos; one at a time if an edit may be in the
 * way. */
static guint count_redos(struct model *m, int64_t wanted)
{
    guint count = (guint)CLAMP(wanted, 1, (int64_t)m->redos->len);

    return any_barrier(m, m->redos, count) ||
                   before_edited(m->redos, count, true) < count
               ? 1
               : count;
}

static bool is_absent(struct model *m, int code)
{
    return code == ERROR_NOTHING_TO_REDO && m->redo_unsure;
}

/* Fewer than that: the last to be redone are missing. */
static void drop_absent(struct model *m, guint count)
{
    g_ptr_array_remove_range(m->redos, 0, m->redos->len - (count - 1));
}

static void redo_now(struct model *m, guint count, bool force)
{
    g_autoptr(GPtrArray) was = model_look(m), wanted = ref(was);
    int code = model_request(
        m, "redo", json_pack("{s:i, s:b}", "steps", (int)count, "force", force),
        NULL);

    if (is_absent(m, code)) {
        drop_absent(m, count);
    } else {
        check_answer(m, "redo", m->redos, count, force, code, code ? 0 : count);
        for (guint i = 0; code == 0 && i < count; i++) {
            g_autoptr(GPtrArray) before = g_steal_pointer(&wanted);

            wanted = ref(model_step_newest(m->redos, 0)->after);
            push(m, model_step_newest(m->redos, 0)->unsure ? NULL : before);
        }
    }
    model_forget_now(m);
    model_expect(m, "redo", wanted, NULL);
    if (m->failure->len > 0)
        return;
    model_history_sync(m, MODEL_EVICTS_NONE);
    if (code == ERROR_UNDO_BARRIER && !force)
        redo_now(m, count, true);
    else if (code == ERROR_NOTHING_TO_REDO && m->redos->len > 0)
        redo_now(m, m->redos->len, force);
}

void model_redo(struct model *m, int64_t wanted)
{
    if (m->step) {
        refused(m, "redo", ERROR_STEP_ACTIVE);
        return;
    }
    model_end_ambient(m);
    if (m->redos->len == 0)
        refused(m, "redo", ERROR_NOTHING_TO_REDO);
    else
        redo_now(m, count_redos(m, wanted), false);
}
