/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_lost - see restore_lost.h.
 */
#include "interceptor/restore_lost.h"

#include <errno.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/survey.h"
#include "interceptor/sys.h"

static bool is_lost(struct restore *r, const struct survey *survey,
                    const struct step_inode *inode)
{
    if (inode == r->step->root || g_hash_table_contains(survey->inodes, inode))
        return false;
    /* Only the attaching of a name makes an inode anew. */
    return restore_is_kept(r, inode) == 0 &&
           !(inode->names && restore_can_find(r, inode) != 0);
}

/* Does the record say anything that would have to be restored? */
static bool matters(const struct step_inode *inode)
{
    return inode->flags & (STEP_META | STEP_DATA) || inode->names ||
           inode->bindings;
}

static void tell(struct restore *r, const struct step_inode *inode)
{
    g_autofree char *path = step_path_before(r->step, inode, NULL);
    g_autofree char *valid = g_utf8_make_valid(path ? path : "?", -1);

    log_warn(LOG_UNDO,
             "undo: '%s' is not restored: it was removed or replaced from "
             "outside",
             valid);
    if (r->lost)
        g_ptr_array_add(r->lost, g_strdup(path ? path : "?"));
}

/* What was removed and can be made anew comes back by way of a binding; not
 * where something else has its name by now. */
static int revive(struct restore *r, const struct survey *survey,
                  struct step_inode *inode)
{
    struct stat st;
    int rc;

    if (!inode->home || inode->names || inode->home->flags & STEP_LOST)
        return 0;
    rc = restore_can_find(r, inode);
    if (rc <= 0)
        return rc;
    if (g_hash_table_contains(survey->inodes, inode->home)) {
        fd_auto int dir = restore_open_dir(r, inode->home);

        if (dir < 0 || sys_stat_name(dir, inode->home_name, &st) != -ENOENT)
            return 0;
    }
    return step_record_binding(r->step, inode->home, inode->home_name, inode);
}

static int compare_order(gconstpointer a, gconstpointer b)
{
    const struct step_inode *x = *(struct step_inode *const *)a;
    const struct step_inode *y = *(struct step_inode *const *)b;

    return x->order < y->order ? -1 : x->order > y->order;
}

/* What is not there, directories before what is in them. */
static GPtrArray *find_missing(struct restore *r, const struct survey *survey)
{
    GPtrArray *missing = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, r->step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct step_inode *inode = value;

        if (!(inode->flags & STEP_LOST) && matters(inode) &&
            is_lost(r, survey, inode))
            g_ptr_array_add(missing, value);
    }
    g_ptr_array_sort(missing, compare_order);
    return missing;
}

int restore_find_lost(struct restore *r)
{
    g_autoptr(survey_auto) survey = NULL;
    g_autoptr(GPtrArray) missing = NULL;
    int rc = survey_make(r->step, r->root, false, &survey);

    if (rc == 0)
        rc = restore_open_journal(r);
    if (rc < 0)
        return rc;
    missing = find_missing(r, survey);
    for (guint i = 0; rc == 0 && i < missing->len; i++) {
        struct step_inode *inode = g_ptr_array_index(missing, i);

        rc = revive(r, survey, inode);
        if (rc < 0 || !is_lost(r, survey, inode))
            continue;
        tell(r, inode);
        rc = step_record_lost(r->step, inode);
    }
    return rc;
}

static gboolean binding_is_lost(gpointer key, gpointer value, gpointer data)
{
    const struct step_binding *binding = key;

    return binding->dir->flags & STEP_LOST ||
           (binding->before && binding->before->flags & STEP_LOST);
}

static void remove_lost(GPtrArray *bindings)
{
    for (guint i = bindings ? bindings->len : 0; i > 0; i--) {
        if (binding_is_lost(g_ptr_array_index(bindings, i - 1), NULL, NULL))
            g_ptr_array_remove_index(bindings, i - 1);
    }
}

/* True if it is lost itself. */
static bool drop_lost(struct step_inode *inode)
{
    remove_lost(inode->bindings);
    remove_lost(inode->names);
    if (!(inode->flags & STEP_LOST))
        return false;
    inode->flags &= ~(unsigned)(STEP_META | STEP_DATA);
    return true;
}

void restore_drop_lost(struct restore *r)
{
    GHashTableIter iter;
    gpointer value;
    bool any = false;

    g_hash_table_iter_init(&iter, r->step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        any |= drop_lost(value);
    for (guint i = 0; i < r->step->retired->len; i++)
        any |= drop_lost(g_ptr_array_index(r->step->retired, i));
    if (any)
        g_hash_table_foreach_remove(r->step->bindings, binding_is_lost, NULL);
}
