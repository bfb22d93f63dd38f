/* SPDX-License-Identifier: Apache-2.0
 *
 * model_run - see model_run.h: the frame of steps.
 */
#include "tests/model/model_run.h"

#include <errno.h>
#include <string.h>

#include "common/errors.h"
#include "tests/model/model_history.h"
#include "tests/model/model_tree.h"

enum {
    DEFAULT_COUNT = 100, /* steps */
    AMBIENT_MS = 600000, /* time must not decide what is in a step */
};

void model_fail(struct model *m, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_string_append_vprintf(m->failure, format, args);
    va_end(args);
}

/* The engine's defaults, except that disk space does not matter. */
void model_reset_limits(struct model *m)
{
    m->limits.count = DEFAULT_COUNT;
    m->limits.step = m->limits.log = -1;
    json_decref(world_request(
        m->w, "configure",
        json_pack("{s:i, s:i, s:i}", "max_single_step_size_bytes", -1,
                  "max_log_size_bytes", -1, "min_free_bytes", -1)));
}

struct model *model_new(struct world *world)
{
    struct model *m = g_new0(struct model, 1);

    m->w = world;
    m->trace = g_getenv("STEPBACK_MODEL_TRACE") != NULL;
    m->failure = g_string_new(NULL);
    m->steps = model_steps_new();
    m->redos = model_steps_new();
    m->barriers = g_array_new(FALSE, FALSE, sizeof(guint64));
    world->ambient_ms = AMBIENT_MS;
    g_assert_true(world_start(world));
    model_reset_limits(m);
    return m;
}

void model_free(struct model *m)
{
    model_close_handles(m);
    g_clear_pointer(&m->pending, g_ptr_array_unref);
    g_clear_pointer(&m->now, g_ptr_array_unref);
    g_clear_pointer(&m->pending_places, g_hash_table_unref);
    g_clear_pointer(&m->places, g_hash_table_unref);
    g_ptr_array_unref(m->steps);
    g_ptr_array_unref(m->redos);
    g_array_unref(m->barriers);
    g_string_free(m->failure, TRUE);
    g_free(m->said);
    g_free(m);
}

/* ---- trees --------------------------------------------------------------- */

GPtrArray *model_look(struct model *m)
{
    if (!m->now) {
        m->now = world_snapshot(m->w);
        m->looks++;
    }
    return g_ptr_array_ref(m->now);
}

void model_forget_now(struct model *m)
{
    g_clear_pointer(&m->now, g_ptr_array_unref);
}

void model_expect(struct model *m, const char *after, GPtrArray *wanted,
                  const char *loose)
{
    g_autoptr(GPtrArray) now = model_look(m);
    g_autofree char *diff = wanted ? model_tree_diff(wanted, now, loose) : NULL;

    if (diff)
        model_fail(m, "after %s the tree differs (- before, + now):\n%s", after,
                   diff);
}

/* ---- requests ------------------------------------------------------------ */

int model_request(struct model *m, const char *type, json_t *payload,
                  json_t **ret_answer)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = m->w->backend->request(m->w, type, payload, &error);

    if (m->trace)
        g_test_message("  %s: %s", type, error ? error->message : "ok");
    if (error) {
        g_free(m->said);
        m->said = g_strdup(error->message);
    }
    if (!answer)
        return error->code;
    if (ret_answer)
        *ret_answer = answer;
    else
        json_decref(answer);
    return 0;
}

void model_expect_code(struct model *m, const char *what, int code, int wanted)
{
    if (code != wanted)
        model_fail(m, "%s: code %d (%s), not %d\n", what, code,
                   code ? m->said : "", wanted);
}

/* ---- steps --------------------------------------------------------------- */

/* From here on changes belong to a step. */
static void begin(struct model *m)
{
    g_clear_pointer(&m->pending, g_ptr_array_unref);
    g_clear_pointer(&m->pending_places, g_hash_table_unref);
    m->linked = false;
    m->pending = model_look(m);
    m->pending_places = model_tree_places(m->pending, m->w->share);
}

static void open_step(struct model *m)
{
    int64_t id;

    if (m->step)
        return;
    id = world_step(m->w);
    if (m->ambient)
        model_history_sync(m, MODEL_EVICTS_STEP);
    begin(m);
    m->step = id;
}

static void close_step(struct model *m)
{
    if (!m->step)
        return;
    world_end_step(m->w);
    model_history_sync(m, MODEL_EVICTS_STEP);
}

void model_end_ambient(struct model *m)
{
    if (!m->ambient)
        return;
    world_step(m->w);
    world_end_step(m->w);
    model_history_sync(m, MODEL_EVICTS_STEP);
}

/* The step ends without a trace or, if unprotected, stays. */
static void undone_or_stays(struct model *m, const char *what,
                            enum model_evicts evicts)
{
    if (model_history_has_new(m)) {
        model_history_sync(m, evicts);
        return;
    }
    m->step = 0;
    m->ambient = false;
    model_forget_now(m);
    model_expect(m, what, m->pending, NULL);
    model_history_sync(m, MODEL_EVICTS_NONE);
}

static void abort_step(struct model *m)
{
    int64_t id = m->step;
    g_autoptr(GPtrArray) was = NULL;
    int code;

    if (!id)
        return;
    was = model_look(m);
    m->places_id = 0; /* what it removed may come back as another inode */
    code = model_request(m, "step.abort",
                         json_pack("{s:I}", "step_id", (json_int_t)id), NULL);
    if (code == 0) {
        undone_or_stays(m, "an abort", MODEL_EVICTS_STEP);
        return;
    }
    /* It then is a step like others, or was evicted at once. */
    model_expect_code(m, "step.abort", code, ERROR_STEP_UNPROTECTED);
    if (m->limits.step < 0 && m->limits.log < 0)
        model_fail(m, "step.abort: the step is unprotected\n");
    model_history_sync(m, MODEL_EVICTS_STEP);
    model_forget_now(m);
    model_expect(m, "an abort that was refused", was, NULL);
}

void model_stop(struct model *m, bool kill)
{
    model_close_handles(m);
    if (kill)
        m->w->backend->kill(m->w);
    else
        m->w->backend->stop(m->w);
}

void model_start(struct model *m)
{
    g_assert_true(world_start(m->w));
    model_forget_now(m);
}

/* An open step is rolled back; one that exceeded its limits is known not to be
 * undoable. An ambient one is committed: evicts says when. */
static void recover(struct model *m, const char *after, GPtrArray *was,
                    enum model_evicts evicts)
{
    bool stays = m->step && model_history_has_new(m);

    if (m->ambient && !m->step)
        model_history_sync(m, evicts);
    if (stays)
        model_history_sync(m, MODEL_EVICTS_NONE);
    if (!m->step || stays)
        model_expect(m, after, was, NULL);
    else
        undone_or_stays(m, after, MODEL_EVICTS_NONE);
}

static void crash(struct model *m)
{
    g_autoptr(GPtrArray) was = model_look(m);

    if (m->ambient && model_history_has_new(m))
        model_history_sync(m, MODEL_EVICTS_STEP); /* closed by its timeout */
    model_stop(m, true);
    model_start(m);
    recover(m, "a crash", was, MODEL_EVICTS_NONE);
    model_reset_limits(m);
    model_history_sync(m, MODEL_EVICTS_ALWAYS);
}

static void restart(struct model *m)
{
    g_autoptr(GPtrArray) was = model_look(m);

    model_stop(m, false);
    model_start(m);
    recover(m, "a restart", was, MODEL_EVICTS_STEP);
    model_reset_limits(m);
    model_history_sync(m, MODEL_EVICTS_ALWAYS);
}

static void set_limits(struct model *m, const struct model_op *op)
{
    const int64_t *n = op->numbers;

    if (m->step)
        return;
    model_end_ambient(m);
    m->limits.count = n[0] ? n[0] : DEFAULT_COUNT;
    m->limits.step = n[1] ? n[1] : -1;
    m->limits.log = n[2] ? n[2] : -1;
    model_expect_code(
        m, "configure",
        model_request(
            m, "configure",
            json_pack("{s:I, s:I, s:I}", "max_step_count",
                      (json_int_t)m->limits.count, "max_single_step_size_bytes",
                      (json_int_t)m->limits.step, "max_log_size_bytes",
                      (json_int_t)m->limits.log),
            NULL),
        0);
    model_history_sync(m, MODEL_EVICTS_ALWAYS);
}

static void discard(struct model *m)
{
    g_autoptr(GPtrArray) was = NULL;

    if (m->step)
        return;
    model_end_ambient(m);
    was = model_look(m);
    model_expect_code(m, "discard", model_request(m, "discard", NULL, NULL), 0);
    model_forget_now(m);
    model_expect(m, "a discard", was, NULL);
    model_redos_drop(m, true);
    g_ptr_array_set_size(m->steps, 0);
    model_history_sync(m, MODEL_EVICTS_NONE);
}

/* ---- changes ------------------------------------------------------------- */

/* None of these is acceptable: the engine would have refused what the file
 * system accepts. */
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

/* Undo, redo or another process has removed the open file: what is written to
 * it would be lost. */
static bool is_nameless(struct model *m, const struct model_op *op, int rc)
{
    void *handle = op->kind == MODEL_HWRITE || op->kind == MODEL_HTRUNC ||
                           op->kind == MODEL_HLINK
                       ? m->handles[(uint64_t)op->numbers[0] % MODEL_SLOTS]
                       : NULL;
    g_autoptr(GPtrArray) now = NULL;
    g_autoptr(GHashTable) places = NULL;
    GHashTableIter iter;
    gpointer ino;
    struct stat st;

    if (rc != -ESTALE || !handle ||
        m->w->backend->handle_stat(m->w, handle, &st) < 0)
        return false;
    now = model_look(m);
    places = model_tree_places(now, m->w->share);
    g_hash_table_iter_init(&iter, places);
    while (g_hash_table_iter_next(&iter, NULL, &ino)) {
        if (*(uint64_t *)ino == st.st_ino)
            return false;
    }
    return true;
}

/* The operation may have changed the tree; if the tree differs, it did. was:
 * the tree before, if that matters. */
static void note_change(struct model *m, GPtrArray *was)
{
    g_autoptr(GPtrArray) now = NULL;
    g_autofree char *diff = NULL;

    model_forget_now(m);
    if (!was)
        return;
    now = model_look(m);
    diff = model_tree_diff(was, now, NULL);
    model_redos_drop(m, diff != NULL);
}

static void change(struct model *m, const struct model_op *op)
{
    g_autoptr(GPtrArray) was = m->redos->len > 0 ? model_look(m) : NULL;
    int rc;

    if (!m->step && !m->ambient) {
        begin(m);
        m->ambient = true;
    }
    rc = model_change(m, op);
    note_change(m, was);
    if (m->trace) {
        g_autofree char *text = model_op_to_text(op);

        g_test_message("%s: %s", text, g_strerror(-rc));
    }
    if (is_refusal(rc) && !is_nameless(m, op, rc)) {
        g_autofree char *text = model_op_to_text(op);

        model_fail(m, "%s: %s\n", text, g_strerror(-rc));
    }
}

static json_t *file_request(const struct model_op *op, int64_t id)
{
    int64_t len = CLAMP(op->numbers[1], 0, 1 << 20);
    g_autofree char *text = g_strnfill((gsize)len,
                                       (char)('a' + op->numbers[2] % 26));
    json_t *payload = json_pack("{s:s, s:s, s:I}", "path", op->names[0],
                                "content", text, "step_id", (json_int_t)id);

    if (op->numbers[0] >= 0)
        json_object_set_new(payload, "mode", json_integer(op->numbers[0]));
    if (op->numbers[2] % 2 == 1)
        json_object_set_new(payload, "make_parents", json_true());
    return payload;
}

/* A step of its own or, if refused, nothing. */
static void write_file(struct model *m, const struct model_op *op)
{
    g_autoptr(GPtrArray) was = NULL;
    int code;

    if (!g_utf8_validate(op->names[0], -1, NULL))
        return;
    if (m->step) {
        code = model_request(m, "write_file", file_request(op, m->w->next_id),
                             NULL);
        if (code == 0 || code == ERROR_IO_ERROR)
            model_fail(m, "write_file in a step: code %d\n", code);
        return;
    }
    model_end_ambient(m);
    begin(m);
    was = g_ptr_array_ref(m->pending);
    m->step = m->w->next_id++;
    code = model_request(m, "write_file", file_request(op, m->step), NULL);
    note_change(m, m->redos->len > 0 ? was : NULL);
    if (code == ERROR_IO_ERROR || code == ERROR_INTERNAL)
        model_fail(m, "write_file: code %d\n", code);
    if (code)
        model_expect(m, "a write_file that failed", was, NULL);
    model_history_sync(m, MODEL_EVICTS_STEP);
}

/* ---- dispatch ------------------------------------------------------------ */

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
        model_undo(m, op->numbers[0], (enum model_force)op->numbers[1]);
        break;
    case MODEL_REDO:
        model_redo(m, op->numbers[0]);
        break;
    case MODEL_LIMITS:
        set_limits(m, op);
        break;
    case MODEL_DISCARD:
        discard(m);
        break;
    case MODEL_WRITE_FILE:
        write_file(m, op);
        break;
    case MODEL_EDIT_NEW:
    case MODEL_EDIT_STEP:
    case MODEL_EDIT_ANY:
        model_edit(m, op);
        break;
    default:
        change(m, op);
    }
    return m->failure->len == 0;
}
