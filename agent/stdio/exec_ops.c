/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_ops - the operations "exec.*" of the API; see stdio_call.h.
 */
#include "agent/session/session_exec.h"
#include "agent/stdio/stdio_call.h"
#include "agent/wire/exec_json.h"
#include "agent/wire/payload.h"
#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/message.h"

static gboolean get_id(json_t *payload, gint64 *ret_id, GError **error)
{
    return message_get_int(payload, "exec_id", 1, G_MAXINT64, ret_id, error);
}

/* Answer with the step if the execution has one already. */
static void answer_started(const struct stdio_call *call, gint64 id)
{
    json_t *payload = json_pack("{s:I}", "exec_id", (json_int_t)id);
    struct exec_info info;

    session_exec_get(call->session, session_exec_count(call->session) - 1,
                     &info);
    if (info.exec_id == id && info.step_id)
        json_object_set_new(payload, "step_id", json_integer(info.step_id));
    stdio_call_answer(call, payload);
}

static gboolean start(const struct stdio_call *call, json_t *payload,
                      GError **error)
{
    struct command *command = exec_command_from_json(payload, error);
    bool detach = json_is_true(json_object_get(payload, "detach"));
    bool wait = !json_is_false(json_object_get(payload, "wait"));
    gint64 id;

    if (!command)
        return FALSE;
    command->owner = call->party;
    id = session_exec_start(call->session, command, detach ? NULL : call->party,
                            wait, error);
    if (id)
        answer_started(call, id);
    return id != 0;
}

static gboolean input(const struct stdio_call *call, json_t *payload,
                      GError **error)
{
    bool eof = json_is_true(json_object_get(payload, "eof"));
    size_t len = 0;
    char *data = NULL;
    gint64 id;

    if (!get_id(payload, &id, error))
        return FALSE;
    if (json_object_get(payload, "data")) {
        data = json_bytes_get(payload, "data", &len);
        if (!data)
            return payload_invalid("data", "must be a string, or base64",
                                   error);
    }
    session_exec_input(call->session, id,
                       len > 0 ? g_bytes_new_take(data, len) : NULL, eof,
                       stdio_call_on_answer, stdio_call_keep(call));
    if (len == 0)
        g_free(data);
    return TRUE;
}

static gboolean answer_empty(const struct stdio_call *call, gboolean done)
{
    if (done)
        stdio_call_answer(call, NULL);
    return done;
}

static gboolean resize(const struct stdio_call *call, json_t *payload,
                       GError **error)
{
    unsigned rows, columns;
    gint64 id;

    return get_id(payload, &id, error) &&
           exec_size_from_json(payload, &rows, &columns, error) &&
           answer_empty(call, session_exec_resize(call->session, id, rows,
                                                  columns, error));
}

static gboolean send_signal(const struct stdio_call *call, json_t *payload,
                            GError **error)
{
    gint64 id;
    int number;

    return get_id(payload, &id, error) &&
           exec_signal_from_json(payload, &number, error) &&
           answer_empty(call,
                        session_exec_signal(call->session, id, number, error));
}

static gboolean cancel(const struct stdio_call *call, json_t *payload,
                       GError **error)
{
    gint64 id;

    return get_id(payload, &id, error) &&
           answer_empty(call, session_exec_cancel(call->session, id, error));
}

static gboolean wait(const struct stdio_call *call, json_t *payload,
                     GError **error)
{
    gint64 id;

    if (!get_id(payload, &id, error))
        return FALSE;
    session_exec_wait(call->session, id, stdio_call_on_answer,
                      stdio_call_keep(call));
    return TRUE;
}

static gboolean list(const struct stdio_call *call, json_t *payload,
                     GError **error)
{
    json_t *all = json_array();

    for (unsigned i = 0; i < session_exec_count(call->session); i++) {
        struct exec_info info;

        session_exec_get(call->session, i, &info);
        json_array_append_new(all, exec_info_to_json(&info));
    }
    stdio_call_answer(call, json_pack("{s:o}", "executions", all));
    return TRUE;
}

static gboolean output(const struct stdio_call *call, json_t *payload,
                       GError **error)
{
    struct exec_reading reading;
    gint64 id, since = 0;

    if (!get_id(payload, &id, error) ||
        !message_get_optional_int(payload, "since", 0, G_MAXINT64, &since,
                                  error) ||
        !session_exec_output(call->session, id, (guint64)since, &reading,
                             error))
        return FALSE;
    stdio_call_answer(call, exec_reading_to_json(&reading));
    exec_reading_clear(&reading);
    return TRUE;
}

/* The kept output precedes the answer. */
static gboolean attach(const struct stdio_call *call, json_t *payload,
                       GError **error)
{
    bool replace = json_is_true(json_object_get(payload, "replace"));
    gint64 id;

    return get_id(payload, &id, error) &&
           answer_empty(call, session_exec_attach(call->session, id,
                                                  call->party, replace, error));
}

static gboolean detach(const struct stdio_call *call, json_t *payload,
                       GError **error)
{
    gint64 id;

    return get_id(payload, &id, error) &&
           answer_empty(call, session_exec_detach(call->session, id,
                                                  call->party, error));
}

static gboolean forget(const struct stdio_call *call, json_t *payload,
                       GError **error)
{
    gint64 id;

    return get_id(payload, &id, error) &&
           answer_empty(call, session_exec_forget(call->session, id, error));
}

const struct stdio_operation stdio_exec_operations[] = {
    { "exec.start",
      start,
      { "command", "argv", "login", "cwd", "env", "user", "tty", "stdin",
        "detach", "timeout_seconds", "step", "label", "wait" } },
    { "exec.input", input, { "exec_id", "data", "encoding", "eof" } },
    { "exec.resize", resize, { "exec_id", "rows", "columns" } },
    { "exec.signal", send_signal, { "exec_id", "signal" } },
    { "exec.cancel", cancel, { "exec_id" } },
    { "exec.wait", wait, { "exec_id" } },
    { "exec.list", list, { "" } },
    { "exec.output", output, { "exec_id", "since" } },
    { "exec.attach", attach, { "exec_id", "replace" } },
    { "exec.detach", detach, { "exec_id" } },
    { "exec.forget", forget, { "exec_id" } },
    { NULL },
};
