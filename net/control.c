/* SPDX-License-Identifier: Apache-2.0
 *
 * control - see control.h.
 */
#include "net/control.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/fd.h"
#include "common/message.h"
#include "net/port_socket.h"
#include "net/tcp_log.h"
#include "netbase/control_server.h"

/* A policy takes up to 90 KB, and 1000 connections 200 KB. */
enum { MAX_LINE = 256 << 10, MAX_QUEUE = 512 << 10 };

struct control {
    struct control_server *server;
    int ports_fd;
    struct gateway *gateway;
    guint tell_source;
    bool has_dns;
    uint8_t dns[4];
};

/* ---- requests ------------------------------------------------------------ */

static gboolean get_dns(struct control *control, json_t *payload,
                        GError **error)
{
    json_t *server = json_object_get(payload, "dns_server");
    const char *text = json_string_value(server);

    if (!server)
        return TRUE;
    if (!json_is_null(server) &&
        (!text || inet_pton(AF_INET, text, control->dns) != 1)) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'dns_server' must be an IPv4 address");
        return FALSE;
    }
    control->has_dns = text != NULL;
    return TRUE;
}

static json_t *configure(void *opaque, json_t *payload, GError **error)
{
    struct control *control = opaque;
    g_autofree struct network_policy *policy = g_new(struct network_policy, 1);
    json_t *wanted = json_object_get(payload, "network_policy");

    *policy = *gateway_policy(control->gateway);
    if ((wanted && !network_policy_parse(wanted, policy, error)) ||
        !get_dns(control, payload, error))
        return NULL;
    gateway_configure(control->gateway, policy,
                      control->has_dns ? control->dns : NULL);
    return json_object();
}

static json_t *add_port(void *opaque, json_t *payload, GError **error)
{
    struct control *control = opaque;
    const char *protocol = NULL;
    gint64 id = 0, port = 0;
    int fd = port_socket_receive(control->ports_fd, error);

    if (fd < 0)
        return NULL;
    if (!message_get_int(payload, "id", 0, G_MAXINT64, &id, error) ||
        !message_get_int(payload, "guest_port", 1, G_MAXUINT16, &port, error) ||
        !message_get_string(payload, "protocol", &protocol, error)) {
        fd_close(&fd);
        return NULL;
    }
    if (!inbound_add(gateway_inbound(control->gateway), id,
                     strcmp(protocol, "udp") == 0, (unsigned)port, fd, error))
        return NULL;
    return json_object();
}

static json_t *remove_port(void *opaque, json_t *payload, GError **error)
{
    struct control *control = opaque;
    gint64 id = 0;

    if (!message_get_int(payload, "id", 0, G_MAXINT64, &id, error) ||
        !inbound_remove(gateway_inbound(control->gateway), id, error))
        return NULL;
    return json_object();
}

static json_t *tell_status(void *opaque, json_t *payload, GError **error)
{
    struct control *control = opaque;

    return json_pack("{s:o, s:o, s:o}", "network_policy",
                     network_policy_to_json(gateway_policy(control->gateway)),
                     "frames", gateway_count(control->gateway), "bytes",
                     gateway_count_bytes(control->gateway));
}

static json_t *entry_to_json(const struct tcp_log_entry *entry, bool open)
{
    char text[INET6_ADDRSTRLEN];

    return json_pack(
        "{s:I, s:s, s:i, s:s?, s:s, s:I, s:I, s:I}", "id",
        (json_int_t)entry->id, "address",
        network_address_format(&entry->address, text), "port", (int)entry->port,
        "reason", open || entry->made ? NULL : "the connection was not made",
        "verdict", open ? "open" : "closed", "from_guest",
        (json_int_t)entry->from_guest, "to_guest", (json_int_t)entry->to_guest,
        "milliseconds", (json_int_t)entry->milliseconds);
}

static void add_open(const struct tcp_log_entry *entry, void *opaque)
{
    json_array_append_new(opaque, entry_to_json(entry, true));
}

static json_t *list_connections(void *opaque, json_t *payload, GError **error)
{
    json_t *list = json_array();

    tcp_log_list(add_open, list);
    return json_pack("{s:o}", "connections", list);
}

static json_t *report_again(void *opaque, json_t *payload, GError **error)
{
    struct control *control = opaque;

    gateway_report_again(control->gateway);
    return json_object();
}

static const struct control_operation operations[] = {
    { "configure", configure },          { "port.add", add_port },
    { "port.remove", remove_port },      { "status", tell_status },
    { "connections", list_connections }, { "report_again", report_again },
};

/* ---- events -------------------------------------------------------------- */

static void tell_connections(struct control *control)
{
    struct tcp_log_entry entry;
    unsigned missed;

    while (tcp_log_take(&entry)) {
        if (!control_server_send(control->server, "event.connection",
                                 entry_to_json(&entry, false)))
            tcp_log_miss(1);
    }
    missed = tcp_log_take_missed();
    if (missed > 0 &&
        !control_server_send(control->server, "event.connections_untold",
                             json_pack("{s:I}", "count", (json_int_t)missed)))
        tcp_log_miss(missed);
}

static gboolean tell(gpointer data)
{
    struct control *control = data;
    const char *type;
    json_t *event;

    control->tell_source = 0;
    while ((event = gateway_take_event(control->gateway, &type)))
        control_server_send(control->server, type, event);
    tell_connections(control);
    return G_SOURCE_REMOVE;
}

void control_has_event(void *opaque)
{
    struct control *control = opaque;

    if (!control->tell_source)
        control->tell_source = g_idle_add(tell, control);
}

void control_tell_left(struct control *control)
{
    json_t *left = list_connections(control, NULL, NULL);

    tell_connections(control);
    if (json_array_size(json_object_get(left, "connections")) > 0)
        control_server_send(control->server, "event.connections_left", left);
    else
        json_decref(left);
}

/* ---- set-up -------------------------------------------------------------- */

struct control *control_new(int fd, int ports_fd, void (*closed)(void *opaque),
                            void *opaque)
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

    control->ports_fd = ports_fd;
    control->server = control_server_new(fd, &service, control);
    return control;
}

void control_attach(struct control *control, struct gateway *gateway)
{
    control->gateway = gateway;
    tcp_log_set(control_has_event, control);
}

void control_free(struct control *control)
{
    if (!control)
        return;
    tcp_log_set(NULL, NULL);
    g_clear_handle_id(&control->tell_source, g_source_remove);
    control_server_free(control->server);
    fd_close(&control->ports_fd);
    g_free(control);
}
