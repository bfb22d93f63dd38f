/* SPDX-License-Identifier: Apache-2.0
 *
 * port_json - see port_json.h.
 */
#include "agent/wire/port_json.h"

#include <arpa/inet.h>

#include "agent/wire/payload.h"
#include "common/message.h"

static const char *const fields[] = { "address", "host_port", "guest_port",
                                      "protocol", NULL };

gboolean port_from_json(json_t *object, bool has_guest,
                        struct port_spec *ret_spec, GError **error)
{
    struct port_spec spec = { 0 };
    const char *address = "127.0.0.1", *protocol = "tcp";
    gint64 host = 0, guest = 0;

    if (!message_get_optional_string(object, "address", &address, error) ||
        !message_get_optional_string(object, "protocol", &protocol, error) ||
        !port_spec_parse_address(address, &spec.address, error) ||
        !port_spec_parse_protocol(protocol, &spec.udp, error))
        return FALSE;
    if (has_guest ? !message_get_int(object, "guest_port", 1, G_MAXUINT16,
                                     &guest, error) ||
                        !message_get_optional_int(object, "host_port", 0,
                                                  G_MAXUINT16, &host, error)
                  : !message_get_int(object, "host_port", 1, G_MAXUINT16, &host,
                                     error))
        return FALSE;
    spec.host_port = (guint16)host;
    spec.guest_port = (guint16)guest;
    *ret_spec = spec;
    return TRUE;
}

gboolean ports_from_json(json_t *list, GArray *ports, GError **error)
{
    struct port_spec spec;
    json_t *entry;
    size_t i;

    if (list && !json_is_array(list))
        return payload_invalid(
            "ports", "must be a list of objects with a 'guest_port'", error);
    json_array_foreach(list, i, entry)
    {
        if (!json_is_object(entry))
            return payload_invalid(
                "ports", "must be a list of objects with a 'guest_port'",
                error);
        if (!message_check_known(entry, fields, error) ||
            !port_from_json(entry, true, &spec, error))
            return FALSE;
        g_array_append_val(ports, spec);
    }
    return TRUE;
}

json_t *port_to_json(const struct port_spec *spec)
{
    char address[INET_ADDRSTRLEN];

    inet_ntop(AF_INET, &spec->address, address, sizeof(address));
    return json_pack("{s:s, s:i, s:i, s:s}", "address", address, "host_port",
                     (int)spec->host_port, "guest_port", (int)spec->guest_port,
                     "protocol", port_spec_protocol(spec));
}

json_t *port_list_to_json(const GArray *ports)
{
    json_t *list = json_array();

    for (guint i = 0; i < ports->len; i++)
        json_array_append_new(
            list, port_to_json(&g_array_index(ports, struct port_spec, i)));
    return list;
}

json_t *ports_to_json(const GArray *published, const struct guest_ports *open)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < open->count; i++)
        json_array_append_new(list, guest_ports_to_json(&open->list[i]));
    return json_pack("{s:o, s:o}", "published", port_list_to_json(published),
                     "listening", list);
}
