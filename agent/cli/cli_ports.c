/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_ports - see cli_ports.h.
 */
#include "agent/cli/cli_ports.h"

#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/wire/port_json.h"

gboolean cli_ports_parse(char *const *values, GArray *ports, GError **error)
{
    struct port_spec spec;

    for (; values && *values; values++) {
        if (!port_spec_parse(*values, &spec, error))
            return FALSE;
        g_array_append_val(ports, spec);
    }
    return TRUE;
}

gboolean cli_ports_parse_host(const char *text, struct port_spec *ret_spec,
                              GError **error)
{
    const char *slash = strchr(text, '/');
    gsize length = slash ? (gsize)(slash - text) : strlen(text);
    g_autofree char *whole = g_strdup_printf("%.*s:1%s", (int)length, text,
                                             slash ? slash : "");

    return port_spec_parse(text, ret_spec, NULL) ||
           port_spec_parse(whole, ret_spec, error);
}

static bool is_in(const struct port_spec *wanted, json_t *list)
{
    struct port_spec spec;
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
    {
        if (!port_from_json(entry, true, &spec, NULL) ||
            spec.guest_port != wanted->guest_port)
            continue;
        if (!wanted->host_port)
            spec.host_port = 0;
        if (port_spec_same_host(&spec, wanted))
            return true;
    }
    return false;
}

bool cli_ports_are_in(char *const *values, json_t *list)
{
    struct port_spec wanted;

    for (; values && *values; values++) {
        if (!port_spec_parse(*values, &wanted, NULL) || !is_in(&wanted, list))
            return false;
    }
    return true;
}

void cli_ports_report(const GArray *ports)
{
    char text[PORT_SPEC_TEXT];

    for (guint i = 0; i < ports->len; i++) {
        const struct port_spec *spec = &g_array_index(ports, struct port_spec,
                                                      i);

        fprintf(stderr, CLI_PROGRAM ": %s leads to port %d of the guest\n",
                port_spec_format(spec, text), spec->guest_port);
    }
}

static const char *get_text(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static json_int_t get_port(json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* Return "80/tcp": a new string. */
static char *describe_port(json_t *port, const char *member)
{
    return g_strdup_printf("%d/%s", (int)get_port(port, member),
                           get_text(port, "protocol"));
}

static bool is_loopback(const char *address)
{
    return g_str_has_prefix(address, "127.") || strcmp(address, "::1") == 0;
}

/* Return what the guest's end of a port is doing. UDP has no listeners. */
static const char *describe_guest(json_t *listening, json_t *published)
{
    bool on_loopback = false;
    json_t *open;
    size_t i;

    if (strcmp(get_text(published, "protocol"), "tcp") != 0)
        return "-";
    json_array_foreach(listening, i, open)
    {
        if (get_port(open, "port") != get_port(published, "guest_port"))
            continue;
        if (!is_loopback(get_text(open, "address")))
            return "listening";
        on_loopback = true;
    }
    return on_loopback ? "listens on the guest's loopback only; bind 0.0.0.0"
                       : "not listening";
}

static bool is_published(json_t *published, json_t *open)
{
    json_t *port;
    size_t i;

    json_array_foreach(published, i, port)
    {
        if (strcmp(get_text(port, "protocol"), "tcp") == 0 &&
            get_port(port, "guest_port") == get_port(open, "port"))
            return true;
    }
    return false;
}

void cli_ports_list(json_t *answer, cli_ports_row row, void *opaque)
{
    json_t *published = json_object_get(answer, "published");
    json_t *listening = json_object_get(answer, "listening"), *port;
    size_t i;

    json_array_foreach(published, i, port)
    {
        g_autofree char *host = g_strdup_printf(
            "%s:%d", get_text(port, "address"),
            (int)get_port(port, "host_port"));
        g_autofree char *guest = describe_port(port, "guest_port");

        row(host, guest, describe_guest(listening, port), opaque);
    }
    json_array_foreach(listening, i, port)
    {
        g_autofree char *guest = describe_port(port, "port");

        if (!is_published(published, port))
            row("-", guest, "listening, not published", opaque);
    }
}
