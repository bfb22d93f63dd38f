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

/* A policy of 256 networks and 256 names takes about 90 KB. */
enum { MAX_LINE = 256 << 10, MAX_QUEUE = 1 << 20 };

enum { TOLD_PER_SECOND = 20 };

/* Further addresses of an answer are ignored. */
enum { ADDRESSES_MAX = 64 };

struct control {
    struct control_server *server;
    struct connections *connections;
    void (*closed)(void *opaque);
    void *opaque;
    guint second; /* a timer while there were ends in the current second */
    unsigned told, untold;
};

/* ---- requests ------------------------------------------------------------ */

static json_t *configure(struct control *control, json_t *payload,
                         GError **error)
{
    g_autofree struct network_policy *policy = g_new(struct network_policy, 1);
    json_t *wanted = json_object_get(payload, "network_policy");

    if (wanted) {
        if (!network_policy_parse(wanted, policy, error))
            return NULL;
        connections_configure(control->connections, policy);
    }
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

static json_t *take_addresses(struct control *control, json_t *payload,
                              GError **error)
{
    struct network_address addresses[ADDRESSES_MAX];
    json_t *list = json_object_get(payload, "addresses"), *value;
    const char *problem = json_string_value(json_object_get(payload, "error"));
    gint64 id = 0;
    size_t i;

    if (!message_get_int(payload, "id", 0, G_MAXINT64, &id, error))
        return NULL;
    json_array_foreach(list, i, value)
    {
        if (i == ADDRESSES_MAX)
            break;
        if (!get_address(value, &addresses[i], error))
            return NULL;
    }
    connections_resolved(control->connections, id, addresses,
                         (unsigned)MIN(json_array_size(list), ADDRESSES_MAX),
                         problem);
    return json_object();
}

static json_t *tell_status(struct control *control, json_t *payload,
                           GError **error)
{
    struct connections_counts counts = connections_count(control->connections);

    return json_pack("{s:I, s:I, s:I, s:{s:I, s:I}}", "connections",
                     (json_int_t)counts.open, "total", (json_int_t)counts.total,
                     "refused", (json_int_t)counts.refused, "bytes",
                     "from_guest", (json_int_t)counts.from_guest, "to_guest",
                     (json_int_t)counts.to_guest);
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

static json_t *list_connections(struct control *control, json_t *payload,
                                GError **error)
{
    json_t *list = json_array();

    connections_list(control->connections, add_open, list);
    return json_pack("{s:o}", "connections", list);
}

static json_t *carry_out(void *opaque, const char *type, json_t *payload,
                         GError **error)
{
    if (strcmp(type, "configure") == 0)
        return configure(opaque, payload, error);
    if (strcmp(type, "resolved") == 0)
        return take_addresses(opaque, payload, error);
    if (strcmp(type, "status") == 0)
        return tell_status(opaque, payload, error);
    if (strcmp(type, "connections") == 0)
        return list_connections(opaque, payload, error);
    return NULL;
}

static void on_closed(void *opaque)
{
    struct control *control = opaque;

    control->closed(control->opaque);
}

static const struct control_service service = {
    .line_max = MAX_LINE,
    .queue_max = MAX_QUEUE,
    .carry_out = carry_out,
    .closed = on_closed,
};

/* ---- events -------------------------------------------------------------- */

static bool resolve(gint64 id, const char *name, void *opaque)
{
    struct control *control = opaque;

    return control_server_send(
        control->server, "event.resolve",
        json_pack("{s:I, s:s}", "id", (json_int_t)id, "name", name));
}

static gboolean end_second(gpointer data)
{
    struct control *control = data;
    bool busy = control->told > 0 || control->untold > 0;

    if (control->untold > 0 &&
        control_server_send(control->server, "event.connections_untold",
                            json_pack("{s:i}", "count", (int)control->untold)))
        control->untold = 0;
    control->told = 0;
    if (!busy)
        control->second = 0;
    return busy;
}

static void tell_end(const struct connection_report *report, void *opaque)
{
    struct control *control = opaque;
    json_t *event;

    if (!control->second)
        control->second = g_timeout_add_seconds(1, end_second, control);
    if (control->told == TOLD_PER_SECOND) {
        control->untold++;
        return;
    }
    control->told++;
    event = report_to_json(report, report->refused ? "refused" : "closed");
    if (!control_server_send(control->server, "event.connection", event))
        control->untold++;
}

const struct connections_callbacks control_callbacks = {
    .resolve = resolve,
    .ended = tell_end,
};

/* ---- set-up -------------------------------------------------------------- */

struct control *control_new(int fd, void (*closed)(void *opaque), void *opaque)
{
    struct control *control = g_new0(struct control, 1);

    control->closed = closed;
    control->opaque = opaque;
    control->server = control_server_new(fd, &service, control);
    return control;
}

void control_attach(struct control *control, struct connections *connections)
{
    control->connections = connections;
}

void control_free(struct control *control)
{
    if (!control)
        return;
    g_clear_handle_id(&control->second, g_source_remove);
    control_server_free(control->server);
    g_free(control);
}
