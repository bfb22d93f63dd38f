/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_call - see mcp_call.h.
 *
 * A call is attached (it has a connection, which receives its answer), parked
 * (it has a token instead), or cancelled (it has neither). The outcome of a
 * parked call is kept for the repeated request.
 */
#include "agent/mcp/mcp_call.h"

#include "agent/mcp/mcp_registry.h"

/* How long a parked call waits for the repeated request: a person may have to
 * decide first. */
enum { PARKED_MS = 10 * 60 * 1000 };

struct mcp_call {
    guint64 serial;
    struct mcp_registry *registry;
    const struct mcp_transport *transport;
    struct mcp_connection *connection;
    json_t *id, *params, *capabilities;
    json_t *progress_token; /* or NULL */
    char *method;
    enum mcp_version version;
    int log_level;
    bool cancelled;

    mcp_call_cancelled on_cancelled;
    void *cancelled_opaque;

    json_t *questions, *answers; /* NULL: no question is open */
    mcp_call_answered answered;
    void *answered_opaque;

    char *token; /* while parked */
    guint timer;
    json_t *outcome; /* {"result"} or {"error"}, while parked */
};

/* ---- life ---------------------------------------------------------------- */

static void attach(struct mcp_call *call, const struct mcp_call_config *config)
{
    json_t *meta = json_object_get(config->params, "_meta");
    json_t *token = json_object_get(meta, "progressToken");

    call->connection = config->connection;
    call->transport = config->transport;
    json_decref(call->id);
    call->id = json_incref(config->id);
    json_decref(call->progress_token);
    call->progress_token = json_is_string(token) || json_is_integer(token)
                               ? json_incref(token)
                               : NULL;
    json_decref(call->capabilities);
    call->capabilities = json_incref(config->capabilities);
    call->log_level = config->log_level;
    call->transport->add_call(call->connection, call);
}

struct mcp_call *mcp_call_new(const struct mcp_call_config *config)
{
    static guint64 last_serial;
    struct mcp_call *call = g_new0(struct mcp_call, 1);

    call->serial = ++last_serial;
    call->registry = config->registry;
    call->method = g_strdup(config->method);
    call->version = config->version;
    call->params = config->params ? json_incref(config->params) : json_object();
    attach(call, config);
    return call;
}

static void forget_questions(struct mcp_call *call)
{
    g_clear_pointer(&call->questions, json_decref);
    g_clear_pointer(&call->answers, json_decref);
}

static void unpark(struct mcp_call *call)
{
    g_clear_handle_id(&call->timer, g_source_remove);
    if (call->token)
        mcp_registry_unpark(call->registry, call->token);
    g_clear_pointer(&call->token, g_free);
}

static void detach(struct mcp_call *call)
{
    if (call->connection)
        call->transport->remove_call(call->connection, call);
    call->connection = NULL;
}

static void call_free(struct mcp_call *call)
{
    detach(call);
    unpark(call);
    forget_questions(call);
    json_decref(call->id);
    json_decref(call->params);
    json_decref(call->capabilities);
    json_decref(call->progress_token);
    json_decref(call->outcome);
    g_free(call->method);
    g_free(call);
}

/* ---- answers ------------------------------------------------------------- */

/* Add the members that every result of the later era has. */
static void complete(struct mcp_call *call, json_t *result)
{
    json_t *meta = json_object_get(result, "_meta");

    if (call->version < MCP_MODERN)
        return;
    if (!json_object_get(result, "resultType"))
        json_object_set_new(result, "resultType", json_string("complete"));
    if (!meta) {
        meta = json_object();
        json_object_set_new(result, "_meta", meta);
    }
    json_object_set_new(meta, MCP_META_SERVER,
                        mcp_registry_describe(call->registry, call->version));
}

/* outcome has "result" or "error", and is taken. */
static void send_outcome(struct mcp_call *call, json_t *outcome)
{
    json_object_set_new(outcome, "jsonrpc", json_string("2.0"));
    json_object_set(outcome, "id", call->id);
    call->transport->answer(call->connection, call, outcome);
}

static void end(struct mcp_call *call, json_t *outcome)
{
    if (call->questions && call->connection && !call->token)
        mcp_call_withdraw(call);
    if (call->token && !call->cancelled) {
        call->outcome = outcome; /* the parked call's timer runs on */
        return;
    }
    if (call->connection && !call->cancelled)
        send_outcome(call, outcome);
    else
        json_decref(outcome);
    call_free(call);
}

void mcp_call_finish(struct mcp_call *call, json_t *result)
{
    complete(call, result);
    end(call, json_pack("{s:o}", "result", result));
}

void mcp_call_finish_cached(struct mcp_call *call, json_t *result, int ttl_ms)
{
    if (call->version >= MCP_MODERN) {
        json_object_set_new(result, "ttlMs", json_integer(ttl_ms));
        json_object_set_new(result, "cacheScope", json_string("private"));
    }
    mcp_call_finish(call, result);
}

void mcp_call_fail(struct mcp_call *call, int code, json_t *data,
                   const char *format, ...)
{
    g_autofree char *text = NULL, *valid = NULL;
    json_t *error;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    valid = g_utf8_make_valid(text, -1);
    error = json_pack("{s:i, s:s, s:o*}", "code", code, "message", valid,
                      "data", data);
    end(call, json_pack("{s:o}", "error", error));
}

void mcp_call_set_cancelled(struct mcp_call *call, mcp_call_cancelled cancelled,
                            void *opaque)
{
    call->on_cancelled = cancelled;
    call->cancelled_opaque = opaque;
}

void mcp_call_cancel(struct mcp_call *call)
{
    if (call->cancelled)
        return;
    if (call->questions)
        mcp_call_withdraw(call);
    call->cancelled = true;
    detach(call);
    unpark(call);
    if (call->on_cancelled)
        call->on_cancelled(call, call->cancelled_opaque);
}

/* ---- progress and log messages ------------------------------------------- */

bool mcp_call_wants_progress(const struct mcp_call *call)
{
    return call->progress_token && call->connection;
}

void mcp_call_progress(struct mcp_call *call, double progress, double total,
                       const char *message)
{
    json_t *params;

    if (!mcp_call_wants_progress(call))
        return;
    params = json_pack("{s:O, s:f}", "progressToken", call->progress_token,
                       "progress", progress);
    if (total >= 0)
        json_object_set_new(params, "total", json_real(total));
    if (message && call->version >= MCP_2025_03_26)
        json_object_set_new(params, "message", json_string(message));
    call->transport->notify(call->connection, "notifications/progress", params);
}

void mcp_call_log(struct mcp_call *call, const char *level, const char *logger,
                  json_t *data)
{
    if (!call->connection || mcp_log_level_parse(level) < call->log_level) {
        json_decref(data);
        return;
    }
    call->transport->notify(call->connection, "notifications/message",
                            json_pack("{s:s, s:s, s:o}", "level", level,
                                      "logger", logger, "data", data));
}

/* ---- questions ----------------------------------------------------------- */

bool mcp_call_can(const struct mcp_call *call, const char *capability)
{
    return json_is_object(json_object_get(call->capabilities, capability));
}

void mcp_call_drop(struct mcp_call *call)
{
    if (call->outcome)
        call_free(call);
    else
        mcp_call_cancel(call);
}

static gboolean on_parked_too_long(gpointer data)
{
    struct mcp_call *call = data;

    call->timer = 0;
    mcp_call_drop(call);
    return G_SOURCE_REMOVE;
}

/* Return the unanswered questions: a new object. */
static json_t *open_questions(struct mcp_call *call)
{
    json_t *open = json_object(), *question;
    const char *key;

    json_object_foreach(call->questions, key, question)
    {
        if (!json_object_get(call->answers, key))
            json_object_set(open, key, question);
    }
    return open;
}

/* Answer the current request with the questions, and park the call until it is
 * repeated. */
static bool park(struct mcp_call *call)
{
    json_t *result;

    call->token = mcp_registry_park(call->registry, call);
    if (!call->token)
        return false;
    result = json_pack("{s:s, s:o, s:s}", "resultType", "input_required",
                       "inputRequests", open_questions(call), "requestState",
                       call->token);
    complete(call, result);
    send_outcome(call, json_pack("{s:o}", "result", result));
    detach(call);
    call->timer = g_timeout_add(PARKED_MS, on_parked_too_long, call);
    return true;
}

static bool ask_connection(struct mcp_call *call)
{
    json_t *question;
    const char *key;

    json_object_foreach(call->questions, key, question)
    {
        const char *method = json_string_value(
            json_object_get(question, "method"));
        json_t *params = json_object_get(question, "params");

        if (!call->transport->ask(call->connection, call, key, method,
                                  json_incref(params)))
            return false;
    }
    return true;
}

bool mcp_call_ask(struct mcp_call *call, json_t *requests,
                  mcp_call_answered answered, void *opaque)
{
    bool asked;

    if ((!call->connection && !call->token) || call->outcome ||
        call->questions ||
        (call->connection && !call->transport->can_ask(call->connection))) {
        json_decref(requests);
        return false;
    }
    call->questions = requests;
    call->answers = json_object();
    call->answered = answered;
    call->answered_opaque = opaque;
    if (call->token)
        return true; /* the repeated request gets the outcome */
    asked = call->version >= MCP_MODERN ? park(call) : ask_connection(call);
    if (!asked)
        mcp_call_withdraw(call);
    return asked;
}

void mcp_call_withdraw(struct mcp_call *call)
{
    if (call->connection)
        call->transport->unask(call->connection, call);
    forget_questions(call);
}

static void look_at_answers(struct mcp_call *call)
{
    json_t *answers;

    if (json_object_size(call->answers) < json_object_size(call->questions))
        return;
    answers = json_incref(call->answers);
    forget_questions(call);
    call->answered(call, answers, call->answered_opaque);
    json_decref(answers);
}

void mcp_call_take_answer(struct mcp_call *call, const char *key,
                          json_t *result)
{
    if (!json_object_get(call->questions, key))
        return;
    json_object_set_new(call->answers, key,
                        result ? json_incref(result) : json_null());
    look_at_answers(call);
}

/* ---- repetition ---------------------------------------------------------- */

/* Return the request's own members, without those that change when it is
 * repeated. */
static json_t *copy_own_members(json_t *params)
{
    json_t *copy = json_copy(params);

    json_object_del(copy, "_meta");
    json_object_del(copy, "inputResponses");
    json_object_del(copy, "requestState");
    return copy;
}

bool mcp_call_is_repeated(const struct mcp_call *call,
                          const struct mcp_call_config *config)
{
    json_t *a = copy_own_members(call->params),
           *b = copy_own_members(config->params);
    bool same = g_strcmp0(call->method, config->method) == 0 &&
                call->version == config->version && json_equal(a, b);

    json_decref(a);
    json_decref(b);
    return same;
}

static void take_answers(struct mcp_call *call, json_t *responses)
{
    json_t *open = open_questions(call), *question;
    const char *key;

    json_object_foreach(open, key, question)
    {
        json_t *response = json_object_get(responses, key);

        if (json_is_object(response))
            json_object_set(call->answers, key, response);
    }
    json_decref(open);
}

void mcp_call_repeat(struct mcp_call *call,
                     const struct mcp_call_config *config)
{
    json_t *outcome = g_steal_pointer(&call->outcome);

    unpark(call);
    attach(call, config);
    if (outcome) {
        send_outcome(call, outcome);
        call_free(call);
        return;
    }
    if (!call->questions)
        return; /* withdrawn: the call continues and finishes by itself */
    take_answers(call, json_object_get(config->params, "inputResponses"));
    if (json_object_size(call->answers) < json_object_size(call->questions)) {
        if (!park(call))
            mcp_call_withdraw(call);
    } else {
        look_at_answers(call);
    }
}

/* ---- members ------------------------------------------------------------- */

const char *mcp_call_method(const struct mcp_call *call)
{
    return call->method;
}

enum mcp_version mcp_call_version(const struct mcp_call *call)
{
    return call->version;
}

json_t *mcp_call_params(const struct mcp_call *call)
{
    return call->params;
}

void *mcp_call_service(const struct mcp_call *call)
{
    return call->registry->opaque;
}

struct mcp_connection *mcp_call_connection(const struct mcp_call *call)
{
    return call->connection;
}

json_t *mcp_call_id(const struct mcp_call *call)
{
    return call->id;
}

guint64 mcp_call_serial(const struct mcp_call *call)
{
    return call->serial;
}

struct mcp_registry *mcp_call_registry(const struct mcp_call *call)
{
    return call->registry;
}
