/* SPDX-License-Identifier: Apache-2.0
 *
 * control - see control.h.
 */
#include "proxy/control.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/message.h"
#include "netbase/control_server.h"
#include "proxy/dial.h"

/* A policy of 256 networks and 256 names takes about 90 KB; 64 secrets take 1
 * MB at most, and twice that if each of their bytes is escaped. */
enum { MAX_LINE = 2 << 20, MAX_QUEUE = 1 << 20 };

enum { TOLD_PER_SECOND = 20 };

/* Further addresses of an answer are ignored. */
enum { ADDRESSES_MAX = 64 };

struct control {
    struct control_server *server;
    struct connections *connections;
    void (*configured)(void *opaque); /* NULL: it was called */
    void *opaque;
    guint second; /* a timer while there were events in the current second */
    struct quota {
        unsigned told, untold;
    } ends, requests;
    bool expects_end; /* all ends are reported */
};

/* ---- requests ------------------------------------------------------------ */

/* The value becomes a line of a request. */
static bool is_field_value(const char *text)
{
    for (; text && *text; text++) {
        if (!g_ascii_isprint(*text))
            return false;
    }
    return true;
}

static gboolean take_upstream(struct control *control, unsigned i,
                              json_t *upstream, GError **error)
{
    const char *authorization = NULL;
    gint64 port = 0;

    if (!message_get_int(upstream, "port", 1, 65535, &port, error))
        return FALSE;
    authorization = json_string_value(
        json_object_get(upstream, "authorization"));
    if (!is_field_value(authorization)) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'authorization' must be printable");
        return FALSE;
    }
    connections_set_upstream(control->connections, i, (unsigned)port,
                             authorization);
    return TRUE;
}

static gboolean take_upstreams(struct control *control, json_t *list,
                               GError **error)
{
    for (unsigned i = 0; list && i < UPSTREAMS_MAX; i++) {
        json_t *upstream = json_array_get(list, i);

        if (!json_is_object(upstream))
            connections_set_upstream(control->connections, i, 0, NULL);
        else if (!take_upstream(control, i, upstream, error))
            return FALSE;
    }
    return TRUE;
}

static json_t *configure(void *opaque, json_t *payload, GError **error)
{
    struct control *control = opaque;
    g_autofree struct network_policy *policy = g_new(struct network_policy, 1);
    json_t *wanted = json_object_get(payload, "network_policy");
    json_t *secrets = json_object_get(payload, "secrets");

    /* Connections may begin with the policy. */
    if (!take_upstreams(control, json_object_get(payload, "upstreams"), error))
        return NULL;
    /* The policy first: secrets that are refused must not keep an older one in
     * force. */
    if (wanted && !network_policy_parse(wanted, policy, error))
        return NULL;
    if (wanted)
        connections_configure(control->connections, policy);
    if (wanted && control->configured) {
        control->configured(control->opaque);
        control->configured = NULL;
    }
    if (secrets &&
        !connections_set_secrets(control->connections, secrets, error))
        return NULL;
    return json_object();
}

static gboolean get_address(json_t *value, struct network_address *ret_address,
                            GError **error)
{
    const char *text = json_string_value(value);

    memset(ret_address, 0, sizeof(*ret_address));
    ret_address->v6 = text && strchr(text, ':');
    if (text && inet_pton(ret_address->v6 ? AF_INET6 : AF_INET, text,
                          ret_address->bytes) == 1)
        return TRUE;
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                        "the field 'addresses' must be a list of addresses");
    return FALSE;
}

static json_t *take_addresses(void *opaque, json_t *payload, GError **error)
{
    struct control *control = opaque;
    struct network_address addresses[ADDRESSES_MAX];
    json_t *list = json_object_get(payload, "addresses"), *value;
    const char *problem = json_string_value(json_object_get(payload, "error"));
    gint64 id = 0, upstream = -1;
    unsigned count = (unsigned)MIN(json_array_size(list), ADDRESSES_MAX);
    size_t i;

    if (!message_get_int(payload, "id", 0, G_MAXINT64, &id, error) ||
        !message_get_optional_int(payload, "upstream", 0, UPSTREAMS_MAX - 1,
                                  &upstream, error))
        return NULL;
    json_array_foreach(list, i, value)
    {
        if (i == ADDRESSES_MAX)
            break;
        if (!get_address(value, &addresses[i], error))
            return NULL;
    }
    if (upstream >= 0)
        connections_resolved_upstream(control->connections, id,
                                      (unsigned)upstream, addresses, count,
                                      problem);
    else
        connections_resolved(control->connections, id, addresses, count,
                             problem);
    return json_object();
}

static json_t *take_certificate(void *opaque, json_t *payload, GError **error)
{
    struct control *control = opaque;
    const char *name;

    if (!message_get_string(payload, "name", &name, error))
        return NULL;
    connections_certified(control->connections, name,
                          json_string_value(json_object_get(payload, "chain")),
                          json_string_value(json_object_get(payload, "key")),
                          json_string_value(json_object_get(payload, "error")));
    return json_object();
}

static json_t *decide(void *opaque, json_t *payload, GError **error)
{
    struct control *control = opaque;
    gint64 port, seconds = ASKS_REFUSE_S;
    const char *name, *reason = NULL;
    struct asks_decision decision;
    gboolean allow = FALSE;

    if (!message_get_int(payload, "id", 0, G_MAXINT64, &decision.id, error) ||
        !message_get_string(payload, "name", &name, error) ||
        !message_get_int(payload, "port", 1, G_MAXUINT16, &port, error) ||
        !message_get_optional_bool(payload, "allow", &allow, error) ||
        !message_get_optional_string(payload, "reason", &reason, error) ||
        !message_get_optional_int(payload, "seconds", 0, ASKS_REFUSE_S,
                                  &seconds, error))
        return NULL;
    decision.name = name;
    decision.port = (unsigned)port;
    decision.allow = allow;
    decision.reason = reason;
    decision.seconds = (unsigned)seconds;
    return json_pack("{s:b}", "decided",
                     connections_decide(control->connections, &decision));
}

static json_t *tell_status(void *opaque, json_t *payload, GError **error)
{
    struct control *control = opaque;
    struct connections_counts counts = connections_count(control->connections);

    return json_pack("{s:I, s:I, s:I, s:{s:I, s:I}}", "connections",
                     (json_int_t)counts.open, "total", (json_int_t)counts.total,
                     "refused", (json_int_t)counts.refused, "bytes",
                     "from_guest", (json_int_t)counts.from_guest, "to_guest",
                     (json_int_t)counts.to_guest);
}

static void tell_untold(struct control *control, struct quota *quota,
                        const char *type)
{
    if (quota->untold > 0 &&
        control_server_send(control->server, type,
                            json_pack("{s:i}", "count", (int)quota->untold)))
        quota->untold = 0;
}

static json_t *report_to_json(const struct connection_report *report,
                              const char *verdict)
{
    const struct connection_target *target = report->target;

    return json_pack("{s:I, s:s, s:i, s:s?, s:s, s:s?, s:s?, s:I, s:I, s:I}",
                     "id", (json_int_t)target->id, "name", target->name, "port",
                     (int)target->port, "address", report->address, "verdict",
                     verdict, "reason", report->reason, "allow", report->allow,
                     "from_guest", (json_int_t)report->from_guest, "to_guest",
                     (json_int_t)report->to_guest, "milliseconds",
                     (json_int_t)report->milliseconds);
}

static void add_open(const struct connection_report *report, void *opaque)
{
    json_array_append_new(opaque, report_to_json(report, "open"));
}

static json_t *list_connections(void *opaque, json_t *payload, GError **error)
{
    struct control *control = opaque;
    json_t *list = json_array();

    connections_list(control->connections, add_open, list);
    return json_pack("{s:o}", "connections", list);
}

static json_t *end(void *opaque, json_t *payload, GError **error)
{
    struct control *control = opaque;
    json_t *answer = list_connections(control, payload, error);

    control->expects_end = true;
    connections_drop(control->connections);
    tell_untold(control, &control->ends, "event.connections_untold");
    tell_untold(control, &control->requests, "event.requests_untold");
    return answer;
}

static const struct control_operation operations[] = {
    { "configure", configure },
    { "resolved", take_addresses },
    { "certificate", take_certificate },
    { "decide", decide },
    { "status", tell_status },
    { "connections", list_connections },
    { "end", end },
};

/* ---- events -------------------------------------------------------------- */

static bool resolve(const struct connection_target *target, void *opaque)
{
    struct control *control = opaque;

    return control_server_send(
        control->server, "event.resolve",
        json_pack("{s:I, s:s, s:i}", "id", (json_int_t)target->id, "name",
                  target->name, "port", (int)target->port));
}

static bool certify(const char *name, void *opaque)
{
    struct control *control = opaque;

    return control_server_send(control->server, "event.certificate",
                               json_pack("{s:s}", "name", name));
}

/* Begin a new second. Return whether there were events in the last one. */
static bool renew(struct control *control, struct quota *quota,
                  const char *untold_type)
{
    bool busy = quota->told > 0 || quota->untold > 0;

    tell_untold(control, quota, untold_type);
    quota->told = 0;
    return busy;
}

static bool ask(gint64 id, const char *name, unsigned port, void *opaque)
{
    struct control *control = opaque;

    return control_server_send(control->server, "event.ask",
                               json_pack("{s:I, s:s, s:i}", "id",
                                         (json_int_t)id, "name", name, "port",
                                         (int)port));
}

/* The supervisor reads it late, or never if its queue is full: it then answers
 * a question that is over, which changes nothing. */
static void withdraw(gint64 id, void *opaque)
{
    struct control *control = opaque;

    control_server_send(control->server, "event.ask_withdrawn",
                        json_pack("{s:I}", "id", (json_int_t)id));
}

static gboolean end_second(gpointer data)
{
    struct control *control = data;
    bool ends = renew(control, &control->ends, "event.connections_untold");
    bool requests = renew(control, &control->requests, "event.requests_untold");

    if (ends || requests)
        return G_SOURCE_CONTINUE;
    control->second = 0;
    return G_SOURCE_REMOVE;
}

/* Return whether an event may be sent in this second; otherwise it is
 * counted. */
static bool take_turn(struct control *control, struct quota *quota)
{
    if (control->expects_end)
        return true;
    if (!control->second)
        control->second = g_timeout_add_seconds(1, end_second, control);
    if (quota->told == TOLD_PER_SECOND) {
        quota->untold++;
        return false;
    }
    quota->told++;
    return true;
}

static void tell_end(const struct connection_report *report, void *opaque)
{
    struct control *control = opaque;
    json_t *event;

    if (!take_turn(control, &control->ends))
        return;
    event = report_to_json(report, report->refused ? "refused" : "closed");
    if (!control_server_send(control->server, "event.connection", event))
        control->ends.untold++;
}

/* Return a JSON string, or null. The text may have bytes of a peer. */
static json_t *text_to_json(const char *text)
{
    g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;

    return valid ? json_string(valid) : json_null();
}

static void tell_request(const struct intercepted_request *request,
                         void *opaque)
{
    const struct http_exchange *exchange = request->exchange;
    struct control *control = opaque;
    json_t *event;

    if (!take_turn(control, &control->requests))
        return;
    event = json_pack(
        "{s:I, s:o, s:i, s:o, s:o, s:i, s:s, s:o, s:o}", "id",
        (json_int_t)request->id, "name", text_to_json(request->name), "port",
        (int)request->port, "method", text_to_json(exchange->method), "path",
        text_to_json(exchange->path), "status", (int)exchange->status,
        "verdict", exchange->refused ? "refused" : "allowed", "reason",
        text_to_json(exchange->reason), "allow", text_to_json(exchange->allow));
    if (!control_server_send(control->server, "event.request", event))
        control->requests.untold++;
}

const struct connections_callbacks control_callbacks = {
    .resolve = resolve,
    .certify = certify,
    .ask = ask,
    .withdrawn = withdraw,
    .exchanged = tell_request,
    .ended = tell_end,
};

/* ---- set-up -------------------------------------------------------------- */

struct control *control_new(int fd, void (*closed)(void *opaque), void *opaque)
{
    const struct control_service service = {
        .line_max = MAX_LINE,
        .queue_max = MAX_QUEUE,
        .operations = operations,
        .count = G_N_ELEMENTS(operations),
        .closed = closed,
        .closed_opaque = opaque,
    };
    struct control *control = g_new0(struct control, 1);

    control->opaque = opaque;
    control->server = control_server_new(fd, &service, control);
    return control;
}

void control_attach(struct control *control, struct connections *connections,
                    void (*configured)(void *opaque))
{
    control->connections = connections;
    control->configured = configured;
}

void control_expect_end(struct control *control)
{
    control->expects_end = true;
}

void control_free(struct control *control)
{
    if (!control)
        return;
    g_clear_handle_id(&control->second, g_source_remove);
    control_server_free(control->server);
    g_free(control);
}
