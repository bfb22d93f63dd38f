/* SPDX-License-Identifier: Apache-2.0
 *
 * model_run - see model_run.h: the frame of steps.
 */
#include "tests/model_run.h"

#include <errno.h>
#include <string.h>

#include "tests/oracle.h"

static void fail(struct model *m, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void fail(struct model *m, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_string_append_vprintf(m->failure, format, args);
    va_end(args);
}

struct model *model_new(struct world *world)
{
    struct model *m = g_new0(struct model, 1);

    m->w = world;
    m->trace = g_getenv("STEPBACK_MODEL_TRACE") != NULL;
    m->failure = g_string_new(NULL);
    m->before = g_ptr_array_new_with_free_func(
        (GDestroyNotify)g_ptr_array_unref);
    return m;
}

void model_free(struct model *m)
{
    model_close_handles(m);
    g_clear_pointer(&m->pending, g_ptr_array_unref);
    g_clear_pointer(&m->now, g_ptr_array_unref);
    g_ptr_array_unref(m->before);
    g_string_free(m->failure, TRUE);
    g_free(m);
}

/* ---- trees --------------------------------------------------------------- */

GPtrArray *model_look(struct model *m)
{
    if (!m->now)
        m->now = world_snapshot(m->w);
    return g_ptr_array_ref(m->now);
}

static void forget_now(struct model *m)
{
    g_clear_pointer(&m->now, g_ptr_array_unref);
}

static void set_pending(struct model *m, GPtrArray *tree /* taken, or NULL */)
{
    g_clear_pointer(&m->pending, g_ptr_array_unref);
    m->pending = tree;
}

/* The tree must be what it was; wanted is taken. */
static void expect(struct model *m, const char *after, GPtrArray *wanted)
{
    g_autoptr(GPtrArray) now = NULL;
    g_autofree char *diff = NULL;

    forget_now(m);
    now = model_look(m);
    diff = oracle_diff(wanted, now);
    if (diff)
        fail(m, "after %s the tree differs (- before, + now):\n%s", after,
             diff);
    g_ptr_array_unref(wanted);
}

static json_t *request(struct model *m, const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = m->w->backend->request(m->w, type, payload, &error);

    if (!answer)
        fail(m, "%s: %s\n", type, error->message);
    return answer;
}

/* ---- steps --------------------------------------------------------------- */

/* The step that was open is closed: is it in the history? */
static void settle(struct model *m)
{
    guint count = world_history_count(m->w);

    m->ambient = false;
    m->step = 0;
    if (count == m->before->len + 1)
        g_ptr_array_add(m->before, g_steal_pointer(&m->pending));
    else if (count != m->before->len)
        fail(m, "the history has %u steps, not %u or one more\n", count,
             m->before->len);
}

/* Time may have closed the ambient step. */
static void settle_late(struct model *m)
{
    if (m->ambient && world_history_count(m->w) > m->before->len)
        settle(m);
}

static void open_step(struct model *m)
{
    int64_t id;

    if (m->step)
        return;
    id = world_step(m->w);
    if (m->ambient)
        settle(m);
    set_pending(m, model_look(m));
    m->step = id;
}

static void close_step(struct model *m)
{
    if (!m->step)
        return;
    json_decref(world_close_step(m->w, m->step));
    settle(m);
}

static void abort_step(struct model *m)
{
    json_t *answer;

    if (!m->step)
        return;
    answer = request(m, "step.abort",
                     json_pack("{s:I}", "step_id", (json_int_t)m->step));
    json_decref(answer);
    m->step = 0;
    if (answer)
        expect(m, "an abort", g_steal_pointer(&m->pending));
}

static void start_again(struct model *m, const char *after)
{
    bool open = m->step || m->ambient;

    m->step = 0;
    m->ambient = false;
    g_assert_true(world_start(m->w));
    expect(m, after, open ? g_steal_pointer(&m->pending) : model_look(m));
}

static void crash(struct model *m)
{
    g_autoptr(GPtrArray) now = NULL;

    settle_late(m);
    now = model_look(m);
    model_close_handles(m);
    m->w->backend->kill(m->w);
    start_again(m, "a crash");
}

/* An open step is taken back, an ambient one is committed. */
static void restart(struct model *m)
{
    g_autoptr(GPtrArray) now = model_look(m);
    bool ambient = m->ambient && !m->step;

    model_close_handles(m);
    m->w->backend->stop(m->w);
    m->ambient = false;
    start_again(m, "a restart");
    if (ambient)
        settle(m);
}

static void undo(struct model *m, gint64 steps)
{
    guint count;
    json_t *answer;

    if (m->step)
        return;
    if (m->ambient) { /* closed by opening another */
        json_decref(world_close_step(m->w, world_step(m->w)));
        settle(m);
    }
    count = (guint)CLAMP(steps, 0, (gint64)m->before->len);
    if (count == 0)
        return;
    answer = request(m, "rollback", json_pack("{s:i}", "steps", (int)count));
    json_decref(answer);
    if (!answer)
        return;
    count = m->before->len - count;
    expect(m, "undo", g_ptr_array_ref(g_ptr_array_index(m->before, count)));
    g_ptr_array_set_size(m->before, (gint)count);
}

/* ---- all of it ----------------------------------------------------------- */

/* None of these has a place here: the engine would have refused what the
 * filesystem takes. */
static bool is_refusal(int rc)
{
    static const int odd[] = { EIO,    ESTALE, EBUSY,  EXDEV,  EAGAIN,  EROFS,
                               EMFILE, ENFILE, ENOMEM, EFAULT, ENOTCONN };

    for (size_t i = 0; i < G_N_ELEMENTS(odd); i++) {
        if (rc == -odd[i])
            return true;
    }
    return false;
}

static void change(struct model *m, const struct model_op *op)
{
    int rc;

    if (!m->step && !m->ambient) {
        set_pending(m, model_look(m));
        m->ambient = true;
    }
    rc = model_change(m, op);
    forget_now(m);
    if (m->trace) {
        g_autofree char *text = model_op_to_text(op);

        g_test_message("%s: %s", text, g_strerror(-rc));
    }
    if (is_refusal(rc)) {
        g_autofree char *text = model_op_to_text(op);

        fail(m, "%s: %s\n", text, g_strerror(-rc));
    }
}

bool model_run(struct model *m, const struct model_op *op)
{
    if (m->trace && model_op_is_frame(op)) {
        g_autofree char *text = model_op_to_text(op);

        g_test_message("%s", text);
    }
    switch (op->kind) {
    case MODEL_STEP:
        open_step(m);
        break;
    case MODEL_CLOSE:
        close_step(m);
        break;
    case MODEL_ABORT:
        abort_step(m);
        break;
    case MODEL_CRASH:
        crash(m);
        break;
    case MODEL_RESTART:
        restart(m);
        break;
    case MODEL_UNDO:
        undo(m, op->numbers[0]);
        break;
    default:
        change(m, op);
    }
    return m->failure->len == 0;
}
