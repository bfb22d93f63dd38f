/* SPDX-License-Identifier: Apache-2.0
 *
 * outside - see outside.h.
 */
#include "interceptor/engine/outside.h"

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/barriers.h"
#include "interceptor/log/overlap.h"
#include "interceptor/report/verify.h"

/* ---- policies ------------------------------------------------------------ */

static const char *const policy_names[] = {
    [IC_OUTSIDE_BARRIER] = "barrier",
    [IC_OUTSIDE_WARN] = "warn",
    [IC_OUTSIDE_LOCK] = "lock",
};

gboolean ic_outside_policy_parse(const char *name,
                                 enum ic_outside_policy *ret_policy,
                                 GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(policy_names); i++) {
        if (g_strcmp0(name, policy_names[i]) == 0) {
            *ret_policy = (enum ic_outside_policy)i;
            return TRUE;
        }
    }
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "unknown policy for outside edits '%s'; allowed: 'barrier', "
                "'warn', 'lock'",
                name);
    return FALSE;
}

/* The kernel can ask a daemon before a file is opened (FAN_OPEN_PERM), but not
 * before it is renamed, removed, made or truncated by its path, and not for
 * files that are already open. A lock with such holes is not a lock. */
gboolean ic_outside_policy_check(enum ic_outside_policy policy, GError **error)
{
    if (policy != IC_OUTSIDE_LOCK)
        return TRUE;
    g_set_error_literal(
        error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
        "the policy 'lock' cannot be enforced: this host cannot keep other "
        "processes from changing the folder; use 'barrier', or give the "
        "folder's permissions to the daemon's user alone");
    return FALSE;
}

gboolean ic_set_outside_policy(struct ic *ic, enum ic_outside_policy policy,
                               GError **error)
{
    if (!ic_outside_policy_check(policy, error))
        return FALSE;
    pthread_rwlock_wrlock(&ic->gate);
    ic->outside_policy = policy;
    pthread_rwlock_unlock(&ic->gate);
    return TRUE;
}

/* ---- results ------------------------------------------------------------- */

static void free_info(gpointer info)
{
    ic_step_info_free(info);
}

struct ic_rollback_result *outside_result_new(void)
{
    struct ic_rollback_result *result = g_new0(struct ic_rollback_result, 1);

    result->steps = g_ptr_array_new_with_free_func(free_info);
    result->barriers = barriers_new();
    result->warnings = g_ptr_array_new_with_free_func(g_free);
    result->not_restored = g_ptr_array_new_with_free_func(g_free);
    return result;
}

void ic_rollback_result_free(struct ic_rollback_result *result)
{
    if (!result)
        return;
    g_ptr_array_unref(result->steps);
    g_ptr_array_unref(result->barriers);
    g_ptr_array_unref(result->warnings);
    g_ptr_array_unref(result->not_restored);
    g_free(result);
}

void outside_warn(struct ic_rollback_result *result, char *text)
{
    log_warn(LOG_UNDO, "%s", text);
    g_ptr_array_add(result->warnings, text);
}

static void warn_of(struct ic_rollback_result *result, int64_t id,
                    const char *what, GPtrArray *paths)
{
    struct ic_barrier *all = barrier_new(0, true);
    g_autofree char *names = NULL;

    for (guint i = 0; i < paths->len; i++) {
        barrier_add_path(all, g_ptr_array_index(paths, i));
        g_ptr_array_add(result->not_restored,
                        g_strdup(g_ptr_array_index(paths, i)));
    }
    names = barrier_describe(all);
    if (paths->len > 0)
        outside_warn(result,
                     g_strdup_printf("step %" G_GINT64_FORMAT ": %s: %s", id,
                                     what, names));
    ic_barrier_free(all);
}

void outside_warn_lost(struct ic_rollback_result *result, int64_t id,
                       const struct restore *restore)
{
    warn_of(result, id,
            "not restored because another process removed or replaced them",
            restore_lost(restore));
    warn_of(result, id,
            "folders that another process removed or moved come back without "
            "what the step had not changed in them",
            restore_emptied(restore));
}

/* ---- barriers ------------------------------------------------------------ */

/* Return the newest step before a barrier; 0: none. */
static int64_t step_before(struct ic *ic, const struct ic_barrier *barrier)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);

    if (ic->wal.step && ic->wal.step->seq < barrier->seq)
        return ic->wal.step->id;
    for (; count > 0; count--) {
        if (entries[count - 1].seq < barrier->seq)
            return entries[count - 1].id;
    }
    return 0;
}

static void add_copy(struct ic *ic, GPtrArray *list,
                     const struct ic_barrier *barrier)
{
    struct ic_barrier *copy = barrier_copy(barrier);

    copy->after_step = step_before(ic, barrier);
    g_ptr_array_add(list, copy);
}

GPtrArray *ic_barriers(struct ic *ic)
{
    const GPtrArray *barriers;
    GPtrArray *list = barriers_new();

    watch_sync(ic->watch);
    pthread_rwlock_wrlock(&ic->gate);
    barriers = ic->log ? undo_log_barriers(ic->log) : NULL;
    for (guint i = barriers ? barriers->len : 0; i > 0; i--) {
        const struct ic_barrier *barrier = g_ptr_array_index(barriers, i - 1);

        /* Others no longer block a step. */
        if (step_before(ic, barrier))
            add_copy(ic, list, barrier);
    }
    pthread_rwlock_unlock(&ic->gate);
    return list;
}

/* Refuse or warn because of the result's barriers from index first on. */
static gboolean decide(struct ic_rollback_result *result, guint first,
                       bool goes_on, GError **error)
{
    g_autoptr(GString) all = g_string_new(NULL);

    for (guint i = first; i < result->barriers->len; i++) {
        g_autofree char *text = barrier_describe(
            g_ptr_array_index(result->barriers, i));

        if (goes_on)
            outside_warn(result,
                         g_strdup_printf("overriding outside edits: %s", text));
        g_string_append_printf(all, "%s%s", i > first ? "; " : "", text);
    }
    if (goes_on || result->barriers->len == first)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_UNDO_BARRIER,
                "edited from outside since: %s; force undoes anyway", all->str);
    return FALSE;
}

/* Return the seq of the i-th step that is undone or redone, from 0. */
static int64_t going_seq(struct ic *ic, bool redo, unsigned i)
{
    size_t count;

    if (redo)
        return undo_log_redos(ic->log, &count)[count - 1 - i];
    return undo_log_entries(ic->log, &count)[count - 1 - i].seq;
}

static int open_going(struct ic *ic, bool redo, unsigned i)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);

    return redo ? undo_log_open_redo(ic->log, going_seq(ic, true, i))
                : undo_log_open_step(ic->log, entries[count - 1 - i].id);
}

static struct overlap *load_overlap(struct ic *ic, bool redo, unsigned i)
{
    fd_auto int dir = open_going(ic, redo, i);
    g_autoptr(step_auto) step = NULL;

    if (dir < 0 || step_load(dir, undo_log_alias, ic->log, &step) < 0)
        return overlap_new(NULL, -1);
    return overlap_new(step, dir);
}

/* Move the barriers after this step that overlap with it from pending to hits.
 * Both borrow. */
static void find_hits(struct ic *ic, bool redo, unsigned step,
                      GPtrArray *pending, GPtrArray *hits)
{
    int64_t seq = going_seq(ic, redo, step);
    g_autoptr(overlap_auto) overlap = NULL;

    for (guint i = pending->len; i > 0; i--) {
        struct ic_barrier *barrier = g_ptr_array_index(pending, i - 1);

        if (barrier->seq <= seq)
            break;
        if (!overlap)
            overlap = load_overlap(ic, redo, step);
        if (!overlap_has(overlap, barrier))
            continue;
        g_ptr_array_add(hits, barrier);
        g_ptr_array_remove_index(pending, i - 1);
    }
}

/* Report the barriers that do not block, as one warning. */
static void tell_kept(GPtrArray *barriers, struct ic_rollback_result *result)
{
    struct ic_barrier *all;
    g_autofree char *names = NULL;

    if (barriers->len == 0)
        return;
    if (barriers->len == 1) {
        names = barrier_describe(g_ptr_array_index(barriers, 0));
    } else {
        all = barrier_new(0, true);
        for (guint i = barriers->len; i > 0; i--)
            barrier_add_all(all, g_ptr_array_index(barriers, i - 1));
        names = barrier_describe(all);
        ic_barrier_free(all);
    }
    log_info(LOG_UNDO, "outside edits that do not block: %s", names);
    g_ptr_array_add(
        result->warnings,
        g_strdup_printf("edited from outside since, left as it is: %s", names));
}

static int compare_newest(gconstpointer a, gconstpointer b)
{
    const struct ic_barrier *x = *(struct ic_barrier *const *)a;
    const struct ic_barrier *y = *(struct ic_barrier *const *)b;

    return x->seq > y->seq ? -1 : x->seq < y->seq;
}

gboolean outside_check_barriers(struct ic *ic, bool redo, unsigned steps,
                                bool force, struct ic_rollback_result *result,
                                GError **error)
{
    const GPtrArray *barriers = undo_log_barriers(ic->log);
    int64_t seq = going_seq(ic, redo, steps - 1);
    g_autoptr(GPtrArray) pending = g_ptr_array_new();
    g_autoptr(GPtrArray) hits = g_ptr_array_new();
    guint first = result->barriers->len;

    for (guint i = 0; i < barriers->len; i++) {
        struct ic_barrier *barrier = g_ptr_array_index(barriers, i);

        if (barrier->seq > seq)
            g_ptr_array_add(pending, barrier);
    }
    for (unsigned i = 0; i < steps && pending->len > 0; i++)
        find_hits(ic, redo, i, pending, hits);
    g_ptr_array_sort(hits, compare_newest);
    for (guint i = 0; i < hits->len; i++)
        add_copy(ic, result->barriers, g_ptr_array_index(hits, i));
    tell_kept(pending, result);
    return decide(result, first, force || ic->outside_policy == IC_OUTSIDE_WARN,
                  error);
}

gboolean outside_check_found(struct ic *ic, const GPtrArray *found, bool force,
                             struct ic_rollback_result *result, GError **error)
{
    guint first = result->barriers->len;

    for (guint i = 0; i < found->len; i++)
        add_copy(ic, result->barriers, g_ptr_array_index(found, i));
    return decide(result, first, force || ic->outside_policy == IC_OUTSIDE_WARN,
                  error);
}

int outside_cross_barriers(struct ic *ic, const struct step *step, int dir)
{
    g_autoptr(overlap_auto) overlap = overlap_new(step, dir);

    return undo_log_cross_barriers(ic->log, step->seq, overlap);
}

/* Return whether one of the result's barriers has the path. */
static bool is_told(const struct ic_rollback_result *result, const char *path)
{
    for (guint i = 0; i < result->barriers->len; i++) {
        if (barrier_has_path(g_ptr_array_index(result->barriers, i), path))
            return true;
    }
    return false;
}

gboolean outside_check_step(struct ic *ic, struct step *step, bool force,
                            struct ic_rollback_result *result, bool *ret_edited,
                            GError **error)
{
    g_autoptr(GPtrArray) paths = verify_step(ic->log, step, ic->root->fd);
    bool goes_on = force || ic->outside_policy == IC_OUTSIDE_WARN;
    guint first = result->barriers->len;
    struct ic_barrier *barrier;

    *ret_edited = !paths || paths->len > 0 || result->barriers->len > 0;
    if (!paths) {
        log_debug(LOG_UNDO, "step %" G_GINT64_FORMAT " has no end state",
                  step->id);
        return TRUE;
    }
    if (paths->len == 0)
        return TRUE;
    barrier = barrier_new(g_get_real_time(), false);
    barrier->after_step = step->id;
    for (guint i = 0; i < paths->len; i++) {
        const char *path = g_ptr_array_index(paths, i);

        if (!is_told(result, path))
            barrier_add_path(barrier, path);
    }
    if (barrier->paths->len == 0 && barrier->more == 0) {
        ic_barrier_free(barrier);
        return goes_on || decide(result, 0, false, error);
    }
    g_ptr_array_add(result->barriers, barrier);
    return decide(result, first, goes_on, error);
}
