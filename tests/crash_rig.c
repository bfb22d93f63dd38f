/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_rig - see crash_rig.h.
 */
#include "tests/crash_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/errors.h"
#include "interceptor/engine.h"
#include "tests/oracle.h"

enum {
    ALL = 1000,
    FRESH_EVERY = 100, /* rounds: the history grows, and reading it */
};

static struct ic *engine(struct crash *c)
{
    return world_folder_ic(c->w);
}

/* ---- the act's process --------------------------------------------------- */

static void G_GNUC_PRINTF(2, 3)
    add_trouble(struct crash *c, const char *format, ...)
{
    char *text = c->shared->trouble;
    size_t used = strlen(text), room = sizeof(c->shared->trouble) - used;
    va_list args;

    va_start(args, format);
    g_vsnprintf(text + used, room, format, args);
    va_end(args);
    g_strlcat(text, "\n", sizeof(c->shared->trouble));
}

static void note_fired(unsigned point, const char *call, const char *about,
                       void *opaque)
{
    struct crash *c = opaque;
    g_autofree char *shown = g_strescape(about ? about : "", NULL);

    c->shared->fired = point;
    g_strlcpy(c->shared->call, call, sizeof(c->shared->call));
    g_strlcpy(c->shared->about, shown, sizeof(c->shared->about));
}

/* An error is in order only if the plan has made a call fail. */
bool crash_check_error(struct crash *c, const char *what, GError *error)
{
    if (error && !(c->errors && c->shared->fired))
        add_trouble(c, "%s: %s", what, error->message);
    return !error;
}

bool crash_open(struct crash *c)
{
    g_autoptr(GError) error = NULL;

    world_folder_open(c->w, &error);
    return crash_check_error(c, "opening the share", error);
}

void crash_close(struct crash *c)
{
    if (engine(c))
        c->w->backend->stop(c->w);
}

bool crash_open_step(struct crash *c)
{
    g_autoptr(GError) error = NULL;
    int64_t id = ic_last_step_id(engine(c)) + 1;

    ic_step_open(engine(c), id, IC_STEP_COMMAND, "changes", &error);
    if (!crash_check_error(c, "opening a step", error))
        return false;
    c->shared->id = id;
    c->step_is_open = true;
    return true;
}

void crash_change(struct crash *c, unsigned number)
{
    c->tree->changes[number](c);
}

static void keep_after(struct crash *c)
{
    g_autoptr(GPtrArray) lines = world_snapshot(c->w);
    g_autofree char *text = NULL;

    g_ptr_array_add(lines, NULL);
    text = g_strjoinv("\n", (char **)lines->pdata);
    c->shared->after_len = strlen(text);
    g_assert_cmpuint(c->shared->after_len, <, sizeof(c->shared->after));
    memcpy(c->shared->after, text, c->shared->after_len + 1);
    c->shared->has_after = true;
}

bool crash_close_step(struct crash *c)
{
    g_autoptr(GError) error = NULL;

    keep_after(c);
    ic_step_close(engine(c), c->shared->id, 0, 0, 0, NULL, &error);
    if (!crash_check_error(c, "closing the step", error))
        return false;
    c->step_is_open = false;
    return true;
}

static bool roll_back(struct crash *c, unsigned steps, bool force)
{
    g_autoptr(GError) error = NULL;

    ic_rollback(engine(c), steps, force, NULL, &error);
    return crash_check_error(c, "rollback", error);
}

bool crash_roll_back(struct crash *c, unsigned steps)
{
    return roll_back(c, steps, false);
}

bool crash_roll_back_forced(struct crash *c, unsigned steps)
{
    return roll_back(c, steps, true);
}

void crash_close_ambient(struct crash *c)
{
    const struct step *step = engine(c)->wal.step;

    if (step) {
        c->shared->id = step->id;
        keep_after(c);
    }
    crash_close(c);
}

/* ---- single operations --------------------------------------------------- */

/* Will the plan's point be met in this operation? Then what the tree is before
 * it is worth a look. */
static bool is_near(struct crash *c)
{
    const unsigned *then = c->plan->action == FAULT_LOOK_ERRNO
                               ? c->shared->looks_then
                               : c->shared->points_then;

    return c->shared->fired == 0 && c->tries < CRASH_MAX_TRIES &&
           c->plan->point <= then[c->tries];
}

void crash_try_begin(struct crash *c)
{
    if (c->errors && is_near(c))
        c->before = world_snapshot(c->w);
}

/* Without the folders' mtimes: what was made and removed again shows there. */
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

/* What follows a refusal may fail for want of what was refused, or go on
 * failing; else the error must be over. */
static bool may_follow(const struct crash *c, const char *what, int rc)
{
    bool makes = strstr(what, "O_EXCL") || g_str_has_prefix(what, "mkdir") ||
                 g_str_has_prefix(what, "link") ||
                 g_str_has_prefix(what, "rename") ||
                 g_str_has_prefix(what, "symlink");

    return rc == -ENOENT || rc == -ENOTEMPTY || (rc == -EEXIST && makes) ||
           c->plan->action == FAULT_ERRNO_FROM ||
           c->plan->action == FAULT_TORN_ERRNO;
}

static void check_refused(struct crash *c, const char *what, int rc, bool whole)
{
    g_autoptr(GPtrArray) now = NULL;
    g_autofree char *diff = NULL;

    if (c->shared->refused != 0) {
        if (!may_follow(c, what, rc))
            add_trouble(c, "%s: %s, though the fault is over", what,
                        g_strerror(-rc));
        return;
    }
    c->shared->refused = -rc;
    /* A write that was cut short is told by its count, not by an errno. */
    if (rc != -c->plan->error && c->plan->action != FAULT_TORN_ERRNO)
        add_trouble(c, "%s: refused with '%s', not '%s'", what, g_strerror(-rc),
                    g_strerror(c->plan->error));
    if (!whole || !c->before || c->plan->action == FAULT_TORN_ERRNO)
        return;
    now = world_snapshot(c->w);
    diff = diff_without_times(c->before, now);
    if (diff)
        add_trouble(c, "%s: refused, but the tree differs:\n%s", what, diff);
}

void crash_try_end(struct crash *c, const char *what, int rc, bool whole)
{
    if (rc < 0 && c->errors && c->shared->fired)
        check_refused(c, what, rc, whole);
    else if (rc < 0)
        add_trouble(c, "%s: %s", what, g_strerror(-rc));
    g_clear_pointer(&c->before, g_ptr_array_unref);
    if (c->plan && c->plan->action == FAULT_NONE &&
        c->tries < CRASH_MAX_TRIES) {
        c->shared->points_then[c->tries] = fault_count();
        c->shared->looks_then[c->tries] = fault_look_count();
    }
    c->tries++;
}

/* ---- processes ----------------------------------------------------------- */

static void recover(struct crash *c)
{
    if (crash_open(c))
        crash_close(c);
}

static void run_act(struct crash *c, const struct fault_plan *plan,
                    void (*run)(struct crash *c))
{
    struct fault_plan mine = *plan;

    mine.fired = note_fired;
    mine.opaque = c;
    c->plan = &mine;
    c->errors = plan->error != 0;
    c->tries = 0;
    fault_set(&mine);
    run(c);
    c->shared->points = fault_count();
    c->shared->looks = fault_look_count();
    fault_set(NULL);
    if (c->errors && c->shared->fired && run != recover && c->act->go_on) {
        c->errors = false;
        c->act->go_on(c, c->way);
    }
    _exit(0);
}

/* True if the process came to its end. */
static bool fork_act(struct crash *c, const struct fault_plan *plan,
                     void (*run)(struct crash *c))
{
    pid_t pid;
    int status;

    c->shared->fired = 0;
    pid = fork();
    if (pid == 0)
        run_act(c, plan, run);
    g_assert_cmpint(pid, >, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL ||
        c->shared->fired == 0)
        add_trouble(c, "the process ended with status %#x", (unsigned)status);
    return false;
}

/* ---- states -------------------------------------------------------------- */

static void drop_states(struct crash *c, guint keep)
{
    g_ptr_array_set_size(c->states, (gint)keep);
    g_array_set_size(c->ids, keep > 0 ? keep - 1 : 0);
}

static void add_state(struct crash *c, int64_t id, GPtrArray *lines)
{
    g_ptr_array_add(c->states, lines);
    if (c->states->len > 1)
        g_array_append_val(c->ids, id);
}

static GPtrArray *split_lines(const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "\n", -1);
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

    for (char **part = parts; *part; part++)
        g_ptr_array_add(lines, g_strdup(*part));
    return lines;
}

/* The steps that are in the history before the act. */
static void prepare(struct crash *c)
{
    c->plan = NULL;
    c->errors = false;
    drop_states(c, 1);
    if (!crash_open(c))
        return;
    for (unsigned i = 0; i < c->act->before + c->act->undone; i++) {
        if (!crash_open_step(c))
            break;
        crash_change(c, i);
        if (!crash_close_step(c))
            break;
        add_state(c, c->shared->id, world_snapshot(c->w));
    }
    if (c->act->undone)
        crash_roll_back(c, c->act->undone);
    crash_close(c);
    c->shared->has_after = false;
    c->shared->refused = 0;
    c->shared->id = 0;
}

/* ---- looking after it ---------------------------------------------------- */

static void compare(struct crash *c, guint steps, const char *when)
{
    g_autoptr(GPtrArray) now = world_snapshot(c->w);
    g_autofree char *diff = NULL;

    if (steps >= c->states->len) {
        add_trouble(c, "%s: %u steps, of which the last is not known", when,
                    steps);
        return;
    }
    diff = oracle_diff(g_ptr_array_index(c->states, steps), now);
    if (diff)
        add_trouble(c, "%s: the tree differs (- wanted, + found):\n%s", when,
                    diff);
}

static void free_info(gpointer info)
{
    ic_step_info_free(info);
}

/* How many steps there are; their ids must be those of the states. */
static guint check_history(struct crash *c)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *infos = ic_history(engine(c), ALL, &error);
    guint count = infos ? infos->len : 0;

    if (!infos)
        add_trouble(c, "history: %s", error->message);
    for (guint i = 0; i < count; i++) {
        const struct ic_step_info *info = g_ptr_array_index(infos, i);
        guint at = count - 1 - i;

        if (at >= c->ids->len || g_array_index(c->ids, gint64, at) != info->id)
            add_trouble(c, "step %" G_GINT64_FORMAT " is in the history",
                        info->id);
    }
    if (infos) {
        g_ptr_array_set_free_func(infos, free_info);
        g_ptr_array_unref(infos);
    }
    return count;
}

static void check_count(struct crash *c, guint count, bool done)
{
    guint least = MIN(c->act->before, c->act->after);
    guint most = MAX(c->act->before, c->act->after);

    if (count < least || count > most || (done && count != c->act->after))
        add_trouble(c, "%u steps are in the history, %u before, %u wanted",
                    count, c->act->before, c->act->after);
}

/* Nothing of an interrupted step may be left in the log. */
static void check_log(struct crash *c)
{
    g_autofree char *wal = g_build_filename(c->w->undo_dir, "wal", NULL);
    g_autofree char *trash = g_build_filename(wal, "trash", NULL);
    g_autoptr(GDir) dir = g_dir_open(wal, 0, NULL);
    g_autoptr(GDir) inside = g_dir_open(trash, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        if (strcmp(name, "trash") != 0)
            add_trouble(c, "wal/%s is left in the log", name);
    }
    if (inside && g_dir_read_name(inside))
        add_trouble(c, "wal/trash is not empty");
}

static bool start_again(struct crash *c, bool recovers)
{
    struct ic_step_info *info;

    if (!crash_open(c))
        return false;
    info = ic_recovered(engine(c));
    if (info && !recovers)
        add_trouble(c, "a second start recovers step %" G_GINT64_FORMAT,
                    info->id);
    ic_step_info_free(info);
    return true;
}

/* What a rollback has kept for it must lead to where it came from. */
static guint redo_all(struct crash *c, guint count, bool had_errors)
{
    /* Nothing was changed before the act: then it is of the last round. */
    if (c->act->before + c->act->undone == 0)
        return count;
    for (;;) {
        struct ic_rollback_result *result;
        g_autoptr(GError) error = NULL;
        gboolean ok = ic_redo(engine(c), 1, false, &result, &error);

        ic_rollback_result_free(result);
        if (ok) {
            compare(c, ++count, "redoing all");
            continue;
        }
        if (error_code_of(error) != ERROR_NOTHING_TO_REDO &&
            !(had_errors && error_code_of(error) == ERROR_UNDO_BARRIER))
            add_trouble(c, "redo: %s", error->message);
        return count;
    }
}

/* Back to the first state. */
static void unwind(struct crash *c, guint count, bool had_errors)
{
    while (count > 0) {
        g_autoptr(GError) error = NULL;

        /* Errors may have kept the engine from noting what it restored. Then
         * it takes that for an edit from outside, and wants force. */
        if (!ic_rollback(engine(c), 1, false, NULL, &error) && had_errors &&
            g_error_matches(error, STEPBACK_ERROR, ERROR_UNDO_BARRIER)) {
            g_clear_error(&error);
            ic_rollback(engine(c), 1, true, NULL, &error);
        }
        if (error) {
            add_trouble(c, "undoing step %u: %s", count, error->message);
            return;
        }
        compare(c, --count, "undoing all");
    }
}

static void look_after(struct crash *c, bool done)
{
    bool had_errors = c->last_error != 0;
    guint count;

    c->plan = NULL;
    c->errors = false;
    if (c->shared->has_after)
        add_state(c, c->shared->id, split_lines(c->shared->after));
    if (!start_again(c, true))
        return;
    count = check_history(c);
    check_count(c, count, done);
    compare(c, count, "after the next start");
    crash_close(c);
    check_log(c);
    if (!start_again(c, false))
        return;
    compare(c, count, "after the second start");
    if (check_history(c) != count)
        add_trouble(c, "a second start changes the history");
    unwind(c, redo_all(c, count, had_errors), had_errors);
    crash_close(c);
}

/* ---- rounds -------------------------------------------------------------- */

static void make_world(struct crash *c)
{
    const struct world_backend *backend = c->w->backend;

    crash_close(c);
    world_free(c->w);
    c->w = world_new(backend);
    c->tree->fill(c->w);
    drop_states(c, 0);
    add_state(c, 0, world_snapshot(c->w));
}

struct crash *crash_new(const struct crash_tree *tree,
                        const struct crash_act *act,
                        const struct world_backend *backend)
{
    struct crash *c = g_new0(struct crash, 1);

    c->tree = tree;
    c->act = act;
    c->shared = mmap(NULL, sizeof(*c->shared), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_assert_true(c->shared != MAP_FAILED);
    c->states = g_ptr_array_new_with_free_func(
        (GDestroyNotify)g_ptr_array_unref);
    c->ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    c->w = world_new(backend);
    make_world(c);
    return c;
}

void crash_free(struct crash *c)
{
    crash_close(c);
    world_free(c->w);
    g_ptr_array_unref(c->states);
    g_array_unref(c->ids);
    munmap(c->shared, sizeof(*c->shared));
    g_free(c);
}

static void report(struct crash *c, const struct fault_plan *plans,
                   size_t count)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (size_t i = 0; i < count; i++)
        g_string_append_printf(text, "%sfault %d at point %u", i ? ", " : "",
                               (int)plans[i].action, plans[i].point);
    g_test_message("%s, %s, %s: %s, errno %d, way %u, at %s %s:\n%s",
                   c->w->backend->name, c->tree->name, c->act->name, text->str,
                   plans[count - 1].error, c->way, c->shared->call,
                   c->shared->about, c->shared->trouble);
    g_test_fail();
    c->failures++;
    make_world(c);
}

bool crash_round(struct crash *c, const struct fault_plan *plans, size_t count)
{
    bool done = true;

    if (++c->rounds % FRESH_EVERY == 0)
        make_world(c);
    c->shared->trouble[0] = '\0';
    prepare(c);
    c->last_error = plans[count - 1].error;
    for (size_t i = 0; i < count && !c->shared->trouble[0]; i++) {
        bool ended = fork_act(c, &plans[i], i == 0 ? c->act->run : recover);

        done = done && ended && c->shared->fired == 0;
    }
    if (!c->shared->trouble[0])
        look_after(c, done);
    if (c->shared->trouble[0])
        report(c, plans, count);
    return c->shared->fired != 0;
}
