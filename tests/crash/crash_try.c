/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_try - see crash_rig.h: single operations of the changes.
 */
#include <errno.h>
#include <string.h>

#include "tests/crash/crash_rig.h"
#include "tests/lib/oracle.h"

/* Return whether the plan's point is reached in this operation. Only then is a
 * snapshot taken before it. */
static bool is_near(struct crash *c)
{
    enum fault_action action = c->plan->action;
    const unsigned *then = action == FAULT_LOOK_ERRNO ? c->shared->looks_then
                           : action == FAULT_LIST_ERRNO ||
                                   action == FAULT_LIST_ERRNO_FROM
                               ? c->shared->lists_then
                               : c->shared->points_then;

    return c->shared->board.fired == 0 && c->tries < CRASH_MAX_TRIES &&
           c->plan->point <= then[c->tries];
}

void crash_try_begin(struct crash *c)
{
    if (c->errors && is_near(c))
        c->before = world_snapshot(c->w);
}

/* Leave out directories' mtimes, which show files that were made and removed
 * again. */
static GPtrArray *without_times(GPtrArray *lines)
{
    g_autoptr(GRegex)
        time = g_regex_new(" dir (\\d+ \\d+:\\d+) \\S+", 0, 0, NULL);
    GPtrArray *result = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < lines->len; i++)
        g_ptr_array_add(result,
                        g_regex_replace(time, g_ptr_array_index(lines, i), -1,
                                        0, " dir \\1", 0, NULL));
    return result;
}

static char *diff_without_times(GPtrArray *before, GPtrArray *after)
{
    g_autoptr(GPtrArray) a = without_times(before), b = without_times(after);

    return oracle_diff(a, b);
}

/* An operation after a refusal may fail because of it, or continue to fail;
 * otherwise the error must be over. */
static bool may_follow(const struct crash *c, const char *what, int rc)
{
    bool makes = strstr(what, "O_EXCL") || g_str_has_prefix(what, "mkdir") ||
                 g_str_has_prefix(what, "link") ||
                 g_str_has_prefix(what, "rename") ||
                 g_str_has_prefix(what, "symlink");

    return rc == -ENOENT || rc == -ENOTEMPTY || (rc == -EEXIST && makes) ||
           /* The state on disk after a failed sync is unknown, so all changes
            * of the step fail. */
           strstr(c->shared->board.call, "sync") ||
           c->plan->action == FAULT_ERRNO_FROM ||
           c->plan->action == FAULT_LIST_ERRNO_FROM ||
           c->plan->action == FAULT_TORN_ERRNO;
}

static void check_refused(struct crash *c, const char *what, int rc, bool whole)
{
    g_autoptr(GPtrArray) now = NULL;
    g_autofree char *diff = NULL;

    if (c->shared->refused != 0) {
        if (!may_follow(c, what, rc))
            crash_trouble(c, "%s: %s, though the fault is over", what,
                          g_strerror(-rc));
        return;
    }
    c->shared->refused = -rc;
    /* A write that was cut short returns its count, not an errno. */
    if (rc != -c->plan->error && c->plan->action != FAULT_TORN_ERRNO)
        crash_trouble(c, "%s: refused with '%s', not '%s'", what,
                      g_strerror(-rc), g_strerror(c->plan->error));
    if (!whole || !c->before || c->plan->action == FAULT_TORN_ERRNO)
        return;
    now = world_snapshot(c->w);
    diff = diff_without_times(c->before, now);
    if (diff)
        crash_trouble(c, "%s: refused, but the tree differs:\n%s", what, diff);
}

void crash_try_end(struct crash *c, const char *what, int rc, bool whole)
{
    bool fired = c->shared->board.fired != 0;

    if (rc < 0 && c->errors && fired)
        check_refused(c, what, rc, whole);
    else if (rc < 0 && !(c->may_die && fired))
        crash_trouble(c, "%s: %s", what, g_strerror(-rc));
    g_clear_pointer(&c->before, g_ptr_array_unref);
    if (c->plan && c->plan->action == FAULT_NONE &&
        c->tries < CRASH_MAX_TRIES) {
        c->shared->points_then[c->tries] = c->shared->board.changes;
        c->shared->looks_then[c->tries] = c->shared->board.looks;
        c->shared->lists_then[c->tries] = c->shared->board.lists;
    }
    c->tries++;
}
