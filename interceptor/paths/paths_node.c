/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_node - see paths_node.h.
 */
#include "interceptor/paths/paths_node.h"

#include <errno.h>

#include "common/errors.h"
#include "interceptor/engine/engine.h"
#include "interceptor/mutate/write_file.h"

/* ---- nodes --------------------------------------------------------------- */

void paths_node_free(gpointer data)
{
    struct paths_node *node = data;

    g_ptr_array_unref(node->children);
    meta_free(node->owned);
    g_free(node->name);
    g_free(node);
}

struct paths_node *paths_node_new(struct paths_node *parent, const char *name)
{
    struct paths_node *node = g_new0(struct paths_node, 1);

    node->parent = parent;
    node->name = g_strdup(name);
    node->children = g_ptr_array_new_with_free_func(paths_node_free);
    if (parent)
        g_ptr_array_add(parent->children, node);
    return node;
}

char *paths_node_plain(const struct paths_node *node)
{
    g_autoptr(GString) path = g_string_new(node->name);

    for (node = node->parent; node && node->parent; node = node->parent) {
        g_string_prepend_c(path, '/');
        g_string_prepend(path, node->name);
    }
    return g_string_free(g_steal_pointer(&path), FALSE);
}

char *paths_node_path(const struct paths_node *node)
{
    return node->parent ? paths_node_plain(node) : g_strdup(".");
}

gboolean paths_fail(const struct paths_node *node, int rc, GError **error)
{
    g_autofree char *path = paths_node_path(node);

    switch (-rc) {
    case ESTALE:
        return write_file_fail(error, ERROR_PREIMAGE_MISSING, path,
                               "its former state is unknown");
    case EBADMSG:
        return write_file_fail(error, ERROR_PREIMAGE_CORRUPT, path,
                               "its copy in the undo log is damaged");
    case EBUSY:
        return write_file_fail(error, ERROR_BUSY, path,
                               "changed during the restore; try again");
    case EFBIG:
        return write_file_fail(error, ERROR_TOO_LARGE, path,
                               "the undo log's limit would be exceeded; raise "
                               "max_single_step_size");
    default:
        return write_file_fail_errno(error, path, rc);
    }
}

/* ---- looking ------------------------------------------------------------- */

int paths_resolve_then(const struct paths_plan *plan,
                       const struct paths_node *node,
                       struct past_node *ret_found)
{
    g_autofree char *path = paths_node_plain(node);

    return past_resolve(&plan->past, path, 0, ret_found);
}

int paths_resolve_now(const struct paths_plan *plan,
                      const struct paths_node *node,
                      struct past_node *ret_found)
{
    g_autofree char *path = paths_node_plain(node);

    return past_resolve(&plan->past, path, plan->past.steps->len, ret_found);
}

/* ---- changes ------------------------------------------------------------- */

/* A directory that is removed does not count. */
static bool has_children(const struct paths_node *node)
{
    return !(node->changes & (PATHS_REMOVE | PATHS_MAKE)) ||
           (node->then && S_ISDIR(node->then->mode));
}

static void each_change(const struct paths_node *node, paths_visit *visit,
                        void *opaque)
{
    if (node->changes)
        visit(node, opaque);
    if (!has_children(node))
        return;
    for (guint i = 0; i < node->children->len; i++)
        each_change(g_ptr_array_index(node->children, i), visit, opaque);
}

void paths_plan_each_change(const struct paths_plan *plan, paths_visit *visit,
                            void *opaque)
{
    each_change(plan->root, visit, opaque);
}
