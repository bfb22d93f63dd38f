/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_outside - see paths_outside.h.
 */
#include "interceptor/paths/paths_outside.h"

#include <string.h>

#include "interceptor/engine/engine.h"
#include "interceptor/engine/outside.h"
#include "interceptor/log/barriers.h"
#include "interceptor/log/overlap.h"
#include "interceptor/report/verify.h"

/* ---- what the plan changes ----------------------------------------------- */

/* Sets of owned paths. */
struct changed {
    GHashTable *paths; /* with all paths above them */
    GHashTable *trees; /* paths below them count, too */
};

static void add_change(const struct paths_node *node, void *opaque)
{
    struct changed *changed = opaque;

    if (node->changes == PATHS_TIME)
        return;
    if (node->changes & (PATHS_REMOVE | PATHS_MAKE))
        g_hash_table_add(changed->trees, paths_node_path(node));
    for (; node; node = node->parent)
        g_hash_table_add(changed->paths, paths_node_path(node));
}

static bool has_path(const struct changed *changed, const char *path)
{
    g_autofree char *up = g_strdup(path);
    char *slash;

    if (g_hash_table_contains(changed->paths, path))
        return true;
    while ((slash = strrchr(up, '/'))) {
        *slash = '\0';
        if (g_hash_table_contains(changed->trees, up))
            return true;
    }
    return false;
}

/* An uncertain barrier counts, as in overlap.c. */
static bool has_barrier(const struct changed *changed,
                        const struct ic_barrier *barrier)
{
    bool found = barrier->more > 0 || barrier->paths->len == 0;

    for (guint i = 0; !found && i < barrier->paths->len; i++)
        found = has_path(changed, g_ptr_array_index(barrier->paths, i));
    return found;
}

/* ---- what was edited ----------------------------------------------------- */

static void find_noted(const struct paths_plan *plan,
                       const struct changed *changed, GPtrArray *hits)
{
    const GPtrArray *barriers = undo_log_barriers(plan->past.ic->log);
    const struct step *oldest = g_ptr_array_index(plan->past.steps, 0);

    for (guint i = barriers->len; i > 0; i--) {
        struct ic_barrier *barrier = g_ptr_array_index(barriers, i - 1);

        if (barrier->seq > oldest->seq && has_barrier(changed, barrier))
            g_ptr_array_add(hits, barrier);
    }
}

static bool is_of_newer(const struct paths_plan *plan, guint step,
                        const char *path)
{
    struct ic_barrier *one = barrier_new(0, true);
    bool found = false;

    barrier_add_path(one, path);
    for (guint i = step + 1; !found && i < plan->overlaps->len; i++)
        found = overlap_has(g_ptr_array_index(plan->overlaps, i), one);
    ic_barrier_free(one);
    return found;
}

static bool is_told(const GPtrArray *hits, const char *path)
{
    bool told = false;

    for (guint i = 0; !told && i < hits->len; i++)
        told = barrier_has_path(g_ptr_array_index(hits, i), path);
    return told;
}

static void find_differing(const struct paths_plan *plan, guint index,
                           const struct changed *changed, const GPtrArray *hits,
                           struct ic_barrier *found)
{
    struct ic *ic = plan->past.ic;
    struct step *step = g_ptr_array_index(plan->past.steps, index);
    g_autoptr(GPtrArray) paths = verify_step(ic->log, step, ic->root->fd);

    for (guint i = 0; paths && i < paths->len; i++) {
        const char *path = g_ptr_array_index(paths, i);

        if (has_path(changed, path) && !is_of_newer(plan, index, path) &&
            !is_told(hits, path) && !barrier_has_path(found, path))
            barrier_add_path(found, path);
    }
}

gboolean paths_outside_check(const struct paths_plan *plan, bool force,
                             struct ic_rollback_result *result, GError **error)
{
    g_autoptr(GHashTable)
        paths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable)
        trees = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct changed changed = { paths, trees };
    struct ic_barrier *found = barrier_new(g_get_real_time(), false);
    g_autoptr(GPtrArray) hits = g_ptr_array_new();
    gboolean ok;

    paths_plan_each_change(plan, add_change, &changed);
    find_noted(plan, &changed, hits);
    for (guint i = plan->past.steps->len; i > 0; i--)
        find_differing(plan, i - 1, &changed, hits, found);
    if (found->paths->len > 0)
        g_ptr_array_add(hits, found);
    found->seq = G_MAXINT64; /* after all steps */
    ok = outside_check_found(plan->past.ic, hits, force, result, error);
    ic_barrier_free(found);
    return ok;
}
