/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_elicit - see mcp_elicit.h.
 */
#include "agent/mcp/mcp_elicit.h"

#include <string.h>

#include "agent/base/network_entry.h"
#include "agent/mcp/mcp_state.h"
#include "agent/session/session_approval.h"
#include "common/json_bytes.h"
#include "common/log.h"

/* The client's share (1/N) of a decision's time; the rest is for the
 * frontend. */
enum { GRACE_SHARE = 2 };

/* One decision that the running call has triggered. */
struct asking {
    struct mcp_elicit *elicit;
    char *id, *key; /* id: of the safeguard, or the connection's request */
    bool is_connection;
    json_t *request;    /* the question to the client; NULL: already sent */
    gint64 counts_from; /* from then on the client's answer counts; monotonic,
                           us */
    bool allow, always; /* always: of a connection */
    enum mcp_denial denial; /* the reason if the answer is no */
    guint timer;            /* delivers the client's answer once it counts */
};

/* Several folders may each need a decision for the same command. The client
 * gets one question after the other, since a person answers them. */
struct mcp_elicit {
    struct mcp_state *service;
    unsigned grace_ms, last_key;

    guint64 serial;       /* of the call that the decisions belong to */
    GPtrArray *all;       /* of struct asking */
    struct asking *asked; /* the question that the client has now, or NULL */
};

static void ask_next(struct mcp_elicit *elicit);

static void asking_free(gpointer data)
{
    struct asking *asking = data;

    g_clear_handle_id(&asking->timer, g_source_remove);
    g_free(asking->id);
    g_free(asking->key);
    json_decref(asking->request);
    g_free(asking);
}

static struct asking *find(const struct mcp_elicit *elicit, const char *id)
{
    for (guint i = 0; i < elicit->all->len; i++) {
        struct asking *asking = g_ptr_array_index(elicit->all, i);

        if (g_strcmp0(asking->id, id) == 0)
            return asking;
    }
    return NULL;
}

/* Return the call that the decisions belong to, if it still runs. */
static struct mcp_call *running(const struct mcp_elicit *elicit)
{
    struct mcp_call *call = mcp_queue_running(elicit->service->queue);

    return call && mcp_call_serial(call) == elicit->serial ? call : NULL;
}

static gboolean decide(gpointer data)
{
    struct asking *asking = data;
    struct mcp_elicit *elicit = asking->elicit;
    g_autofree char *id = g_strdup(asking->id);
    bool allow = asking->allow, always = asking->always;

    asking->timer = 0;
    if (!asking->is_connection)
        elicit->service->denial = asking->denial;
    g_ptr_array_remove(elicit->all, asking);
    log_info(LOG_SAFEGUARD, "%s: by way of an MCP client: %s", id,
             allow ? "allow" : "deny");
    elicit->service->host->decide(elicit->service->host_opaque, id, allow,
                                  always);
    return G_SOURCE_REMOVE;
}

/* Return the user's answer: 2 allow always, 1 allow, 0 deny, -1 none. */
static int read_answer(json_t *answer)
{
    const char *action = json_string_value(json_object_get(answer, "action"));
    json_t *content = json_object_get(answer, "content");
    const char *decision = json_string_value(
        json_object_get(content, "decision"));

    if (g_strcmp0(action, "decline") == 0)
        return 0;
    if (g_strcmp0(action, "accept") != 0 || !decision)
        return -1;
    if (strcmp(decision, "allow") == 0 || strcmp(decision, "allow_once") == 0)
        return 1;
    if (strcmp(decision, "allow_always") == 0)
        return 2;
    return strcmp(decision, "deny") == 0 ? 0 : -1;
}

static void on_answered(struct mcp_call *call, json_t *answers, void *opaque)
{
    struct mcp_elicit *elicit = opaque;
    struct asking *asking = elicit->asked;
    gint64 wait;
    int answer;

    if (mcp_call_serial(call) != elicit->serial || !asking)
        return;
    elicit->asked = NULL;
    answer = read_answer(json_object_get(answers, asking->key));
    wait = asking->counts_from - g_get_monotonic_time();
    asking->allow = answer > 0;
    asking->always = answer > 1;
    if (answer < 0)
        asking->denial = MCP_DENIED_UNANSWERED;
    /* From the main loop: a decision may end the call. */
    if (answer >= 0 || elicit->grace_ms == 0)
        asking->timer = g_timeout_add((guint)(MAX(wait, 0) / 1000), decide,
                                      asking);
    ask_next(elicit);
}

/* The guest chooses file names: escape them, so that no name can start a new
 * line or reverse the text of the question. */
static void append_shown(GString *text, const char *bytes)
{
    g_autofree char *valid = g_utf8_make_valid(bytes, -1);

    for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);

        g_string_append_unichar(text, g_unichar_isprint(c) ? c : 0xfffd);
    }
}

static void append_paths(GString *text, json_t *paths)
{
    json_t *path;
    size_t i;

    json_array_foreach(paths, i, path)
    {
        size_t len;
        g_autofree char *bytes = json_is_string(path)
                                     ? g_strdup(json_string_value(path))
                                     : json_bytes_get(path, "path", &len);

        g_string_append(text, "\n  ");
        append_shown(text, bytes ? bytes : "");
    }
}

static json_t *question(json_t *payload, const char *key)
{
    const char *message = json_string_value(
        json_object_get(payload, "message"));
    const char *folder = json_string_value(
        json_object_get(payload, "directory"));
    g_autoptr(GString) text = g_string_new(NULL);
    json_t *params;

    append_shown(text, message ? message
                               : "A command is about to destroy many files or "
                                 "large amounts of data.");
    if (folder)
        g_string_append_printf(text, "\nThe folder: %s", folder);
    append_paths(text, json_object_get(payload, "sample_paths"));
    g_string_append(
        text,
        "\nMay it continue? If not, it is stopped and its changes are undone.");
    params = json_pack("{s:s, s:{s:s, s:{s:{s:s, s:s, s:[s, s]}}, s:[s]}}",
                       "message", text->str, "requestedSchema", "type",
                       "object", "properties", "decision", "type", "string",
                       "title", "Decision", "enum", "allow", "deny", "required",
                       "decision");
    return json_pack("{s:{s:s, s:o}}", key, "method", "elicitation/create",
                     "params", params);
}

/* problem: why it cannot be allowed always, or NULL. */
static json_t *connection_question(const struct approval *approval,
                                   const char *problem, const char *key)
{
    g_autofree char *unicode = network_entry_unicode(approval->name);
    g_autofree char *text = g_strdup_printf(
        "%s%s%sMay the sandbox connect to this host%s?\n  %s%s%s%s, port %u",
        problem ? "It cannot be allowed always: " : "", problem ? problem : "",
        problem ? ".\n" : "", problem ? " once" : "", approval->name,
        unicode ? " (" : "", unicode ? unicode : "", unicode ? ")" : "",
        approval->port);
    json_t *answers = problem ? json_pack("[s, s]", "allow_once", "deny")
                              : json_pack("[s, s, s]", "allow_once",
                                          "allow_always", "deny");

    return json_pack(
        "{s:{s:s, s:{s:s, s:{s:s, s:{s:{s:s, s:s, s:o}}, s:[s]}}}}", key,
        "method", "elicitation/create", "params", "message", text,
        "requestedSchema", "type", "object", "properties", "decision", "type",
        "string", "title", "Decision", "enum", answers, "required", "decision");
}

/* From the main loop: a decision may end the call. */
static void deny_unasked(struct asking *asking)
{
    asking->denial = MCP_DENIED_UNASKED;
    asking->timer = g_idle_add(decide, asking);
}

static void ask_next(struct mcp_elicit *elicit)
{
    struct mcp_call *call = running(elicit);

    for (guint i = 0; call && !elicit->asked && i < elicit->all->len; i++) {
        struct asking *asking = g_ptr_array_index(elicit->all, i);

        if (!asking->request)
            continue;
        if (mcp_call_ask(call, g_steal_pointer(&asking->request), on_answered,
                         elicit))
            elicit->asked = asking;
        else if (elicit->grace_ms == 0) /* else the frontend is asked */
            deny_unasked(asking);
    }
}

/* The remaining questions belong to a call that is over. */
static void begin_with(struct mcp_elicit *elicit, const struct mcp_call *call)
{
    elicit->asked = NULL;
    elicit->serial = mcp_call_serial(call);
    elicit->last_key = 0;
    g_ptr_array_set_size(elicit->all, 0);
}

/* Use a new key each time: a late answer must not count for another
 * question. */
static char *make_key(struct mcp_elicit *elicit, const char *kind)
{
    return ++elicit->last_key == 1
               ? g_strdup(kind)
               : g_strdup_printf("%s-%u", kind, elicit->last_key);
}

static bool can_ask(const struct mcp_call *call)
{
    return mcp_call_version(call) >= MCP_2025_06_18 &&
           mcp_call_can(call, "elicitation");
}

static struct asking *asking_new(struct mcp_elicit *elicit,
                                 const struct mcp_call *call, const char *id,
                                 const char *kind)
{
    struct asking *asking = g_new0(struct asking, 1);

    if (!running(elicit))
        begin_with(elicit, call);
    asking->elicit = elicit;
    asking->id = g_strdup(id);
    asking->key = make_key(elicit, kind);
    g_ptr_array_add(elicit->all, asking);
    return asking;
}

void mcp_elicit_triggered(struct mcp_elicit *elicit, json_t *payload)
{
    struct mcp_call *call = mcp_queue_running(elicit->service->queue);
    const char *id = json_string_value(
        json_object_get(payload, "safeguard_id"));
    json_int_t timeout_s = json_integer_value(
        json_object_get(payload, "timeout_seconds"));
    gint64 grace = elicit->grace_ms;
    struct asking *asking;

    if (!call || !id)
        return;
    if (!can_ask(call) && elicit->grace_ms > 0)
        return; /* the frontend is asked */
    if (timeout_s > 0)
        grace = MIN(grace, timeout_s * 1000 / GRACE_SHARE);
    asking = asking_new(elicit, call, id, "safeguard");
    asking->counts_from = g_get_monotonic_time() + grace * 1000;
    if (can_ask(call)) {
        asking->request = question(payload, asking->key);
        ask_next(elicit);
    } else {
        deny_unasked(asking);
    }
}

static void withdraw(struct mcp_elicit *elicit, const char *id)
{
    struct asking *asking = find(elicit, id);

    if (!asking)
        return;
    if (asking == elicit->asked) {
        struct mcp_call *call = running(elicit);

        elicit->asked = NULL;
        if (call)
            mcp_call_withdraw(call);
    }
    g_ptr_array_remove(elicit->all, asking);
    ask_next(elicit);
}

void mcp_elicit_decided(struct mcp_elicit *elicit, json_t *payload)
{
    withdraw(elicit,
             json_string_value(json_object_get(payload, "safeguard_id")));
}

static struct asking *ask_connection(struct mcp_elicit *elicit,
                                     const struct approval *approval,
                                     const char *problem)
{
    const struct mcp_call *call = mcp_queue_running(elicit->service->queue);
    struct asking *asking = asking_new(elicit, call, approval->id,
                                       "connection");

    asking->is_connection = true;
    if (can_ask(call))
        asking->request = connection_question(approval, problem, asking->key);
    return asking;
}

static void take_connection(struct mcp_elicit *elicit,
                            const struct approval *approval)
{
    const struct mcp_call *call = mcp_queue_running(elicit->service->queue);
    struct asking *asking;

    if (!call || (!can_ask(call) && elicit->grace_ms > 0))
        return; /* the frontend is asked */
    asking = ask_connection(elicit, approval, NULL);
    if (asking->request)
        ask_next(elicit);
    else
        deny_unasked(asking);
}

bool mcp_elicit_ask_once(struct mcp_elicit *elicit,
                         const struct approval *approval, const char *problem)
{
    const struct mcp_call *call = running(elicit);

    if (!call || !can_ask(call))
        return false;
    ask_connection(elicit, approval, problem);
    ask_next(elicit);
    return true;
}

void mcp_elicit_take_approval(struct mcp_elicit *elicit,
                              const struct approval *approval)
{
    if (approval->kind != APPROVAL_NETWORK)
        return;
    if (approval->outcome == APPROVAL_PENDING)
        take_connection(elicit, approval);
    else
        withdraw(elicit, approval->id);
}

struct mcp_elicit *mcp_elicit_new(struct mcp_state *service, unsigned grace_ms)
{
    struct mcp_elicit *elicit = g_new0(struct mcp_elicit, 1);

    elicit->service = service;
    elicit->grace_ms = grace_ms;
    elicit->all = g_ptr_array_new_with_free_func(asking_free);
    return elicit;
}

void mcp_elicit_free(struct mcp_elicit *elicit)
{
    g_ptr_array_unref(elicit->all);
    g_free(elicit);
}
