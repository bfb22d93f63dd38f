/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_rig - see crash_rig.h.
 */
#include "tests/crash/crash_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/errors.h"
#include "interceptor/engine/engine.h"
#include "tests/lib/oracle.h"

enum {
    FRESH_EVERY = 100
}; /* rounds: the history grows, and with it the time
    * to read it */

static struct ic *engine(struct crash *c)
{
    return world_folder_ic(c->w);
}

/* ---- the act's process --------------------------------------------------- */

/* An error is acceptable only if the plan has made a call fail. */
bool crash_check_error(struct crash *c, const char *what, GError *error)
{
    if (error && !(c->errors && c->shared->board.fired))
        crash_trouble(c, "%s: %s", what, error->message);
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
    if (c->w->state)
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

void crash_fill(struct crash *c)
{
    c->shared->points_before = fault_fill(&c->shared->board);
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

/* ---- processes ----------------------------------------------------------- */

static void recover(struct crash *c)
{
    if (crash_open(c))
        crash_close(c);
}

static void run_act(struct crash *c, const struct fault_plan *plan,
                    void (*run)(struct crash *c))
{
    struct fault_board *board = &c->shared->board;

    c->plan = plan;
    c->errors = plan->error != 0;
    c->tries = 0;
    fault_use(board);
    fault_set(board, plan);
    run(c);
    c->shared->points = board->changes;
    c->shared->looks = board->looks;
    c->shared->lists = board->lists;
    fault_set(board, NULL);
    if (c->errors && c->shared->board.fired && run != recover &&
        c->act->go_on) {
        c->errors = false;
        c->act->go_on(c, c->way);
    }
    _exit(0);
}

/* True if the process exited normally. */
#ifdef __SANITIZE_ADDRESS__
/* Each child starts with a copy of all memory that was freed and not reused: 16
 * MiB are more than a round frees, the default of 256 MiB only makes fork()
 * slow. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=16";
}
#endif

static bool fork_act(struct crash *c, const struct fault_plan *plan,
                     void (*run)(struct crash *c))
{
    pid_t pid;
    int status;

    c->shared->board.fired = 0;
    pid = fork();
    if (pid == 0)
        run_act(c, plan, run);
    g_assert_cmpint(pid, >, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL ||
        c->shared->board.fired == 0)
        crash_trouble(c, "the process ended with status %#x", (unsigned)status);
    return false;
}

/* Make the steps that are in the history before the act. */
static void prepare(struct crash *c)
{
    c->plan = NULL;
    c->errors = false;
    crash_drop_states(c, 1);
    if (!crash_open(c))
        return;
    for (unsigned i = 0; i < c->act->before + c->act->undone; i++) {
        if (!crash_open_step(c))
            break;
        crash_change(c, i);
        if (!crash_close_step(c))
            break;
        crash_add_state(c, c->shared->id, world_snapshot(c->w));
    }
    if (c->act->undone)
        crash_roll_back(c, c->act->undone);
    crash_close(c);
    c->shared->has_after = false;
    c->shared->refused = 0;
    c->shared->points_before = 0;
    c->shared->id = 0;
}

/* ---- rounds -------------------------------------------------------------- */

void crash_make_world(struct crash *c)
{
    const struct world_backend *backend = c->w->backend;

    crash_close(c);
    world_free(c->w);
    c->w = world_new(backend);
    c->w->fault_fd = c->shared_fd;
    c->tree->fill(c->w);
    crash_drop_states(c, 0);
    crash_add_state(c, 0, world_snapshot(c->w));
}

struct crash *crash_new(const struct crash_tree *tree,
                        const struct crash_act *act,
                        const struct world_backend *backend)
{
    struct crash *c = g_new0(struct crash, 1);

    c->tree = tree;
    c->act = act;
    c->shared_fd = memfd_create("crash", MFD_CLOEXEC);
    g_assert_cmpint(ftruncate(c->shared_fd, sizeof(*c->shared)), ==, 0);
    c->shared = mmap(NULL, sizeof(*c->shared), PROT_READ | PROT_WRITE,
                     MAP_SHARED, c->shared_fd, 0);
    g_assert_true(c->shared != MAP_FAILED);
    c->states = g_ptr_array_new_with_free_func(
        (GDestroyNotify)g_ptr_array_unref);
    c->ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    c->w = world_new(backend);
    crash_make_world(c);
    return c;
}

void crash_free(struct crash *c)
{
    crash_close(c);
    world_free(c->w);
    g_ptr_array_unref(c->states);
    g_array_unref(c->ids);
    munmap(c->shared, sizeof(*c->shared));
    close(c->shared_fd);
    g_free(c);
}

void crash_report(struct crash *c, const struct fault_plan *plans, size_t count)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *about = NULL;

    for (size_t i = 0; i < count; i++)
        g_string_append_printf(text, "%sfault %d at point %u", i ? ", " : "",
                               (int)plans[i].action, plans[i].point);
    about = g_strescape(c->shared->board.name, NULL);
    g_test_message("%s, %s, %s: round %u, %s, errno %d, way %u, at %s %s:\n%s",
                   c->w->backend->name, c->tree->name, c->act->name, c->rounds,
                   text->str, plans[count - 1].error, c->way,
                   c->shared->board.call, about, c->shared->trouble);
    g_test_fail();
    c->failures++;
    crash_make_world(c);
}

/* Without disk space it may evict any earlier step. */
static guint may_forget(struct crash *c, const struct fault_plan *plan)
{
    return plan->error == EDQUOT ? MIN(c->act->before, c->act->after)
                                 : c->act->forgets;
}

bool crash_round(struct crash *c, const struct fault_plan *plans, size_t count)
{
    bool done = true;
    guint forgotten = 0;

    if (++c->rounds % FRESH_EVERY == 0)
        crash_make_world(c);
    c->shared->trouble[0] = '\0';
    prepare(c);
    c->last_error = plans[count - 1].error;
    c->forgets = may_forget(c, &plans[count - 1]);
    for (size_t i = 0; i < count && !c->shared->trouble[0]; i++) {
        bool ended = fork_act(c, &plans[i], i == 0 ? c->act->run : recover);

        done = done && ended && c->shared->board.fired == 0;
    }
    if (!c->shared->trouble[0])
        forgotten = crash_look_after(c, done);
    if (c->shared->trouble[0])
        crash_report(c, plans, count);
    else if (forgotten > 0)
        crash_make_world(c);
    c->tried += c->shared->board.fired != 0;
    return c->shared->board.fired != 0;
}
