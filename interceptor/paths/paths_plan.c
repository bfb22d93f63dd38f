/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_plan - see paths_plan.h.
 */
#include "interceptor/paths/paths_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/log/barriers.h"
#include "interceptor/log/overlap.h"
#include "interceptor/mutate/mutate_name.h"
#include "interceptor/mutate/write_file.h"
#include "interceptor/past/past_content.h"
#include "interceptor/paths/paths_links.h"
#include "interceptor/paths/paths_names.h"
#include "interceptor/sys/sys.h"

/* ---- nodes --------------------------------------------------------------- */

/* Search the first count children. */
static struct paths_node *find_child(const struct paths_node *node, guint count,
                                     const char *name)
{
    for (guint i = 0; i < count; i++) {
        struct paths_node *child = g_ptr_array_index(node->children, i);

        if (strcmp(child->name, name) == 0)
            return child;
    }
    return NULL;
}

static unsigned depth_of(const struct paths_node *node)
{
    unsigned depth = 0;

    for (; node->parent; node = node->parent)
        depth++;
    return depth;
}

/* ---- looking ------------------------------------------------------------- */

/* The oldest record has the former state. */
static int take_meta(const struct past *past, const struct past_node *found,
                     struct paths_node *node)
{
    for (unsigned i = 0; i < past->steps->len; i++) {
        const struct step_inode *record = past_record(past, found, i);

        if (record && record->meta) {
            node->then = record->meta;
            return 0;
        }
    }
    if (found->fd < 0)
        return -ESTALE;
    node->then = NULL;
    g_clear_pointer(&node->owned, meta_free);
    return meta_read(found->fd, &node->owned);
}

static int look_then(struct paths_plan *plan, struct paths_node *node,
                     struct past_node *ret_found)
{
    mode_t mode;
    int rc = paths_resolve_then(plan, node, ret_found);

    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    rc = take_meta(&plan->past, ret_found, node);
    if (node->owned)
        node->then = node->owned;
    if (rc == 0 && S_ISREG(node->then->mode))
        rc = past_stat(&plan->past, ret_found, 0, &mode, &node->size);
    if (rc < 0)
        past_node_clear(ret_found);
    return rc;
}

static int look_now(struct paths_plan *plan, struct paths_node *node,
                    struct past_node *ret_found)
{
    struct stat st;
    int rc = paths_resolve_now(plan, node, ret_found);

    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    rc = sys_stat_fd(ret_found->fd, &st);
    if (rc < 0) {
        past_node_clear(ret_found);
        return rc;
    }
    node->exists = true;
    node->ino = st.st_ino;
    node->mode = st.st_mode;
    node->size_now = st.st_size;
    return 0;
}

/* ---- deciding ------------------------------------------------------------ */

/* A directory gets its former state in place, even if it is another inode. */
static bool stays(const struct paths_node *node, const struct past_node *then)
{
    if ((node->then->mode & S_IFMT) != (node->mode & S_IFMT))
        return false;
    return S_ISDIR(node->mode) || (!then->gone && then->ino == node->ino);
}

static int compare_meta(struct paths_node *node, const struct past_node *now)
{
    g_autoptr(meta_auto) meta = NULL;
    int rc;

    rc = meta_read(now->fd, &meta);
    if (rc == -EACCES) { /* the owner may not read it: unknown */
        node->changes |= PATHS_META;
        return 0;
    }
    if (rc < 0 || meta_equal(node->then, meta, true))
        return rc;
    node->changes |= S_ISDIR(node->mode) && meta_equal(node->then, meta, false)
                         ? PATHS_TIME
                         : PATHS_META;
    return 0;
}

static int decide(struct paths_plan *plan, struct paths_node *node,
                  const struct past_node *then, const struct past_node *now)
{
    bool in_place = node->then && node->exists && stays(node, then);
    int rc = 0;

    if (in_place)
        rc = compare_meta(node, now);
    else
        node->changes = (node->exists ? PATHS_REMOVE : 0) |
                        (node->then ? PATHS_MAKE : 0);
    if (rc == 0 && node->then && !S_ISDIR(node->then->mode))
        paths_links_add(plan, node, then);
    return rc;
}

/* Return whether a step may have changed something at the path or below it. */
static bool is_touched(const struct paths_plan *plan, const char *path)
{
    struct ic_barrier *barrier = barrier_new(0, true);
    bool touched = false;

    barrier_add_path(barrier, *path ? path : ".");
    for (guint i = 0; !touched && i < plan->overlaps->len; i++)
        touched = overlap_has(g_ptr_array_index(plan->overlaps, i), barrier);
    ic_barrier_free(barrier);
    return touched;
}

static gboolean build(struct paths_plan *plan, struct paths_node *node,
                      bool *ret_found, GError **error);

static int list(const struct paths_plan *plan, const char *path, unsigned level,
                GHashTable *all)
{
    GHashTable *names;
    GHashTableIter iter;
    gpointer name;
    int rc = past_list(&plan->past, path, level, &names);

    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        g_hash_table_add(all, g_strdup(name));
    g_hash_table_unref(names);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Add what was in a directory, and what is, if the directory stays. */
static gboolean build_children(struct paths_plan *plan, struct paths_node *node,
                               GError **error)
{
    g_autoptr(GHashTable)
        all = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree char *path = paths_node_plain(node);
    g_autofree gpointer *names = NULL;
    guint count, known = node->children->len; /* asked for explicitly */
    int rc = list(plan, path, 0, all);

    if (rc == 0 && !(node->changes & PATHS_MAKE))
        rc = list(plan, path, plan->past.steps->len, all);
    if (rc < 0)
        return paths_fail(node, rc, error);
    names = g_hash_table_get_keys_as_array(all, &count);
    qsort(names, count, sizeof(*names), compare_names);
    for (guint i = 0; i < count; i++) {
        const char *name = names[i];
        g_autofree char *below = *path ? g_build_filename(path, name, NULL)
                                       : g_strdup(name);
        struct paths_node *child;
        bool found;

        if (!(node->changes & PATHS_MAKE) && !is_touched(plan, below))
            continue;
        child = find_child(node, known, name);
        if (!child)
            child = paths_node_new(node, name);
        if (!child->asked && !build(plan, child, &found, error))
            return FALSE;
    }
    return TRUE;
}

/* *ret_found: something exists, or existed. */
static gboolean build(struct paths_plan *plan, struct paths_node *node,
                      bool *ret_found, GError **error)
{
    struct past_node then = { .fd = -1 }, now = { .fd = -1 };
    int rc;

    node->asked = true;
    if (depth_of(node) > PATHS_MAX_DEPTH)
        return write_file_fail(error, ERROR_TOO_LARGE, node->name,
                               "it is too deep in the folder; undo the whole "
                               "step");
    rc = look_then(plan, node, &then);
    if (rc == 0)
        rc = look_now(plan, node, &now);
    if (rc == 0)
        rc = decide(plan, node, &then, &now);
    past_node_clear(&then);
    past_node_clear(&now);
    *ret_found = node->then || node->exists;
    if (rc < 0)
        return paths_fail(node, rc, error);
    return !node->then || !S_ISDIR(node->then->mode) ||
           build_children(plan, node, error);
}

/* ---- folders above ------------------------------------------------------- */

static bool makes(const struct paths_node *node)
{
    bool found = node->changes & PATHS_MAKE;

    for (guint i = 0; !found && i < node->children->len; i++)
        found = makes(g_ptr_array_index(node->children, i));
    return found;
}

/* It is made if something is to be made in it. */
static gboolean look_above(struct paths_plan *plan, struct paths_node *node,
                           GError **error)
{
    struct past_node then = { .fd = -1 }, now = { .fd = -1 };
    int rc;

    rc = look_now(plan, node, &now);
    past_node_clear(&now);
    if (rc == 0 && makes(node) && !node->exists) {
        rc = look_then(plan, node, &then);
        past_node_clear(&then);
        node->changes = PATHS_MAKE;
    } else if (rc == 0 && makes(node) && !S_ISDIR(node->mode)) {
        g_autofree char *path = paths_node_path(node);

        return write_file_fail(
            error, ERROR_INVALID_FIELD, path,
            "it was a folder and no longer is; name it, too");
    }
    return rc == 0 || paths_fail(node, rc, error);
}

/* A directory that was not asked for, or only some names of which matter. */
static gboolean build_above(struct paths_plan *plan, struct paths_node *node,
                            GError **error)
{
    if (!node->asked && !look_above(plan, node, error))
        return FALSE;
    for (guint i = 0; i < node->children->len; i++) {
        if (!build_above(plan, g_ptr_array_index(node->children, i), error))
            return FALSE;
    }
    return TRUE;
}

/* ---- paths --------------------------------------------------------------- */

/* Find or make the node of a path that the caller named. NULL and error. */
static struct paths_node *add_path(struct paths_plan *plan, const char *path,
                                   GError **error)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    struct paths_node *node = plan->root;

    if (path[0] == '/' || path[0] == '\0') {
        write_file_fail(error,
                        *path ? ERROR_PATH_OUTSIDE_ROOT : ERROR_INVALID_FIELD,
                        path, "not relative to the folder");
        return NULL;
    }
    for (guint i = 0; parts[i]; i++) {
        struct paths_node *next;

        if (!*parts[i] || strcmp(parts[i], ".") == 0)
            continue;
        if (!mutate_is_name(parts[i])) {
            write_file_fail(error, ERROR_PATH_OUTSIDE_ROOT, path,
                            "has a .. or a name that is too long");
            return NULL;
        }
        next = find_child(node, node->children->len, parts[i]);
        node = next ? next : paths_node_new(node, parts[i]);
    }
    return node;
}

static gboolean add_asked(struct paths_plan *plan, const char *path,
                          GError **error)
{
    struct paths_node *node = add_path(plan, path, error);
    const struct step *oldest = g_ptr_array_index(plan->past.steps, 0);
    bool found;

    if (!node)
        return FALSE;
    if (node->asked)
        return TRUE;
    if (!build(plan, node, &found, error))
        return FALSE;
    if (!found) {
        g_autofree char *shown = g_utf8_make_valid(path, -1);

        g_set_error(error, STEPBACK_ERROR, ERROR_NOT_FOUND,
                    "%s: neither existed before step %" PRId64
                    " nor exists now",
                    shown, oldest->id);
    }
    return found;
}

/* ---- planning ------------------------------------------------------------ */

static void free_overlap(gpointer overlap)
{
    overlap_free(overlap);
}

static void free_image(gpointer image)
{
    past_image_free(image);
}

void paths_plan_init(struct paths_plan *plan)
{
    *plan = (struct paths_plan){ .spool = { .fd = -1 } };
    plan->overlaps = g_ptr_array_new_with_free_func(free_overlap);
    plan->images = g_ptr_array_new_with_free_func(free_image);
    plan->inodes = paths_links_table();
    plan->shared = g_ptr_array_new_with_free_func(g_free);
    plan->root = paths_node_new(NULL, "");
}

void paths_plan_clear(struct paths_plan *plan)
{
    paths_node_free(plan->root);
    g_ptr_array_unref(plan->shared);
    g_hash_table_unref(plan->inodes);
    g_ptr_array_unref(plan->images);
    g_ptr_array_unref(plan->overlaps);
    past_spool_clear(&plan->spool);
    past_clear(&plan->past);
}

static void load_overlaps(struct ic *ic, struct paths_plan *plan)
{
    for (guint i = 0; i < plan->past.steps->len; i++) {
        const struct step *step = g_ptr_array_index(plan->past.steps, i);
        fd_auto int dir = undo_log_open_step(ic->log, step->id);

        g_ptr_array_add(plan->overlaps, overlap_new(step, dir));
    }
}

static gboolean add_names(struct paths_plan *plan, GError **error)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);

    if (!paths_names_find(plan, found, error))
        return FALSE;
    for (guint i = 0; i < found->len; i++) {
        if (!add_asked(plan, g_ptr_array_index(found, i), error))
            return FALSE;
    }
    return TRUE;
}

gboolean paths_plan_make(struct ic *ic, int64_t id, const char *const *paths,
                         size_t n, struct paths_plan *plan, GError **error)
{
    if (n == 0) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "no path given");
        return FALSE;
    }
    if (!past_open(ic, id, false, &plan->past, error))
        return FALSE;
    load_overlaps(ic, plan);
    for (size_t i = 0; i < n; i++) {
        if (!add_asked(plan, paths[i], error))
            return FALSE;
    }
    return add_names(plan, error) && build_above(plan, plan->root, error) &&
           paths_links_settle(plan, error);
}
