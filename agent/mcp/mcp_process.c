/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_process - the tools for processes in the background; see mcp_state.h.
 *
 * A process is an execution that is detached and has no step. A client may read
 * and steer those of other clients too, unless a client is attached: a terminal
 * of the user's is the user's.
 */
#include "agent/mcp/mcp_keys.h"
#include "agent/mcp/mcp_ready.h"
#include "agent/mcp/mcp_state.h"
#include "agent/mcp/mcp_text.h"
#include "agent/mcp/mcp_watch.h"
#include "agent/wire/exec_json.h"
#include "agent/wire/port_json.h"

enum {
    WAIT_DEFAULT_S = 1, /* of start_process and write_process */
    STOP_WAIT_S = 15,   /* more than the shim's grace */
    ROWS = 30,
    COLUMNS = 120,
};

static unsigned get_wait(json_t *arguments, unsigned other)
{
    json_t *value = json_object_get(arguments, "wait_seconds");

    return value ? (unsigned)json_integer_value(value) : other;
}

/* Find the process that the arguments name. NULL: the call was refused. */
static struct session *find(struct mcp_call *call, json_t *arguments,
                            struct exec_info *ret_info)
{
    json_int_t id = json_integer_value(
        json_object_get(arguments, "process_id"));
    struct session *session = mcp_ready_session(call);

    if (mcp_watch_find(session, id, ret_info))
        return session;
    mcp_tools_refuse(call,
                     "process %" JSON_INTEGER_FORMAT
                     ": there is none with this id; list_processes lists them",
                     id);
    return NULL;
}

/* The same, for a process that the client may steer. */
static struct session *find_own(struct mcp_call *call, json_t *arguments,
                                struct exec_info *ret_info)
{
    struct session *session = find(call, arguments, ret_info);

    if (!session || !ret_info->attached)
        return session;
    mcp_tools_refuse(call,
                     "process %" G_GINT64_FORMAT
                     ": it is attached to another client, such as the user's "
                     "terminal; ask the user",
                     ret_info->exec_id);
    return NULL;
}

/* ---- start --------------------------------------------------------------- */

/* Return the payload of exec.start: a new object. */
static json_t *describe(json_t *arguments)
{
    static const char *const keys[] = { "command", "cwd", "env", "label" };
    json_t *payload = json_pack("{s:b, s:s}", "stdin", 1, "step", "none");

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        json_t *value = json_object_get(arguments, keys[i]);

        if (value)
            json_object_set(payload, keys[i], value);
    }
    if (json_is_true(json_object_get(arguments, "tty")))
        json_object_set_new(
            payload, "tty",
            json_pack("{s:i, s:i}", "rows", ROWS, "columns", COLUMNS));
    return payload;
}

static void start(struct mcp_call *call, json_t *arguments)
{
    g_autoptr(GError) error = NULL;
    json_t *payload = describe(arguments);
    struct command *command = exec_command_from_json(payload, &error);
    gint64 id = command ? session_exec_start(mcp_ready_session(call), command,
                                             NULL, false, &error)
                        : 0;

    json_decref(payload);
    if (id == 0)
        mcp_tools_refuse(call, "start_process: %s", error->message);
    else
        mcp_watch_begin(call, &(struct mcp_watch_options){
                                  .id = id,
                                  .wait_s = get_wait(arguments, WAIT_DEFAULT_S),
                              });
}

void mcp_tool_start_process(struct mcp_call *call, json_t *arguments)
{
    mcp_ready_run(call, arguments, start);
}

/* ---- read ---------------------------------------------------------------- */

void mcp_tool_read_process(struct mcp_call *call, json_t *arguments)
{
    json_t *since = json_object_get(arguments, "since");
    struct exec_info info;

    if (find(call, arguments, &info))
        mcp_watch_begin(call, &(struct mcp_watch_options){
                                  .id = info.exec_id,
                                  .since = (guint64)json_integer_value(since),
                                  .wait_s = get_wait(arguments, 0),
                              });
}

/* ---- write --------------------------------------------------------------- */

struct input {
    struct mcp_call *call; /* NULL: cancelled */
    struct mcp_watch_options options;
};

static void on_input_cancelled(struct mcp_call *call, void *opaque)
{
    struct input *input = opaque;

    input->call = NULL;
    mcp_call_finish(call, json_object());
}

static void on_input(const struct answer *answer, const GError *error,
                     void *opaque)
{
    g_autofree struct input *input = opaque;

    if (!input->call)
        return;
    mcp_call_set_cancelled(input->call, NULL, NULL);
    if (error)
        mcp_tools_refuse(input->call, "write_process: %s", error->message);
    else
        mcp_watch_begin(input->call, &input->options);
}

/* Return the bytes to send, or NULL: the call was refused. */
static GString *get_input(struct mcp_call *call, json_t *arguments,
                          bool has_terminal)
{
    json_t *keys = json_object_get(arguments, "keys");
    json_t *text = json_object_get(arguments, "text");
    g_autoptr(GString) data = g_string_new(NULL);
    g_autofree char *problem = NULL;

    if (text)
        g_string_append_len(data, json_string_value(text),
                            (gssize)json_string_length(text));
    if (json_array_size(keys) > 0 && !has_terminal)
        mcp_tools_refuse(call, "write_process: 'keys' needs a process that was "
                               "started with \"tty\": true; stop_process "
                               "sends signals");
    else if (!mcp_keys_append(data, keys, &problem))
        mcp_tools_refuse(call, "write_process: %s", problem);
    else
        return g_steal_pointer(&data);
    return NULL;
}

void mcp_tool_write_process(struct mcp_call *call, json_t *arguments)
{
    bool eof = json_is_true(json_object_get(arguments, "eof"));
    struct exec_info info;
    struct session *session = find_own(call, arguments, &info);
    GString *data = session ? get_input(call, arguments, info.has_terminal)
                            : NULL;
    struct input *input;

    if (!data)
        return;
    input = g_new0(struct input, 1);
    input->call = call;
    input->options = (struct mcp_watch_options){
        .id = info.exec_id,
        .since = info.output_bytes,
        .wait_s = get_wait(arguments, WAIT_DEFAULT_S),
    };
    mcp_call_set_cancelled(call, on_input_cancelled, input);
    session_exec_input(session, info.exec_id,
                       data->len > 0 ? g_string_free_to_bytes(g_string_new_len(
                                           data->str, (gssize)data->len))
                                     : NULL,
                       eof, on_input, input);
    g_string_free(data, TRUE);
}

/* ---- stop ---------------------------------------------------------------- */

static void send_signal(struct mcp_call *call, json_t *arguments,
                        struct session *session, const struct exec_info *info,
                        struct mcp_watch_options *options)
{
    g_autoptr(GError) error = NULL;
    int number;

    options->wait_s = get_wait(arguments, WAIT_DEFAULT_S);
    if (exec_signal_from_json(arguments, &number, &error) &&
        session_exec_signal(session, info->exec_id, number, &error))
        mcp_watch_begin(call, options);
    else
        mcp_tools_refuse(call, "stop_process: %s", error->message);
}

void mcp_tool_stop_process(struct mcp_call *call, json_t *arguments)
{
    g_autoptr(GError) error = NULL;
    struct exec_info info;
    struct session *session = find_own(call, arguments, &info);
    struct mcp_watch_options options;

    if (!session)
        return;
    options = (struct mcp_watch_options){
        .id = info.exec_id,
        .since = info.output_bytes,
        .wait_s = STOP_WAIT_S,
        .until_end = true,
    };
    if (json_object_get(arguments, "signal"))
        send_signal(call, arguments, session, &info, &options);
    else if (session_exec_cancel(session, info.exec_id, &error))
        mcp_watch_begin(call, &options);
    else
        mcp_tools_refuse(call, "stop_process: %s", error->message);
}

/* ---- list ---------------------------------------------------------------- */

static json_t *list_entry(const struct exec_info *info)
{
    json_t *entry = exec_info_to_json(info);

    json_object_set(entry, "process_id", json_object_get(entry, "exec_id"));
    json_object_del(entry, "exec_id");
    return entry;
}

void mcp_tool_list_processes(struct mcp_call *call, json_t *arguments)
{
    struct session *session = mcp_ready_session(call);
    json_t *list = json_array(), *result = NULL;
    const struct guest_ports *open;
    GArray *published;

    for (unsigned i = 0; i < session_exec_count(session); i++) {
        struct exec_info info;

        session_exec_get(session, i, &info);
        json_array_append_new(list, list_entry(&info));
    }
    if (session_port_list(session, &published, &open, NULL)) {
        result = ports_to_json(published, open);
        g_array_unref(published);
    } else {
        result = json_pack("{s:[], s:[]}", "published", "listening");
    }
    json_object_set_new(result, "processes", list);
    mcp_tools_finish(call, mcp_text_processes(result), result);
}
