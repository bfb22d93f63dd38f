/* SPDX-License-Identifier: Apache-2.0
 *
 * port_spec - see port_spec.h.
 */
#include "agent/base/port_spec.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/errors.h"

static gboolean parse_port(const char *word, bool may_be_any, guint16 *ret_port)
{
    guint64 port = 0;

    if (may_be_any && !*word)
        *ret_port = 0;
    else if (g_ascii_string_to_unsigned(word, 10, may_be_any ? 0 : 1,
                                        G_MAXUINT16, &port, NULL))
        *ret_port = (guint16)port;
    else
        return FALSE;
    return TRUE;
}

gboolean port_spec_parse_address(const char *text, struct in_addr *ret_address,
                                 GError **error)
{
    if (inet_pton(AF_INET, text, ret_address) == 1)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "'%.60s' is not an IPv4 address of this host; use 127.0.0.1, "
                "or 0.0.0.0 for all addresses",
                text);
    return FALSE;
}

gboolean port_spec_parse_protocol(const char *text, bool *ret_udp,
                                  GError **error)
{
    *ret_udp = strcmp(text, "udp") == 0;
    if (*ret_udp || strcmp(text, "tcp") == 0)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "'%.20s' is not a protocol of published ports; use tcp or udp",
                text);
    return FALSE;
}

gboolean port_spec_parse(const char *text, struct port_spec *ret_spec,
                         GError **error)
{
    const char *slash = strchr(text, '/');
    g_autofree char *ports = slash ? g_strndup(text, (gsize)(slash - text))
                                   : g_strdup(text);
    g_auto(GStrv) words = g_strsplit(ports, ":", -1);
    guint count = g_strv_length(words);
    struct port_spec spec = { .address.s_addr = htonl(INADDR_LOOPBACK) };

    if (slash && !port_spec_parse_protocol(slash + 1, &spec.udp, error))
        return FALSE;
    if (count < 2 || count > 3 ||
        !parse_port(words[count - 2], true, &spec.host_port) ||
        !parse_port(words[count - 1], false, &spec.guest_port)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "'%.60s' cannot be published; use "
                    "[ADDRESS:]HOST:GUEST[/udp], such as 8080:80",
                    text);
        return FALSE;
    }
    if (count == 3 && !port_spec_parse_address(words[0], &spec.address, error))
        return FALSE;
    *ret_spec = spec;
    return TRUE;
}

const char *port_spec_protocol(const struct port_spec *spec)
{
    return spec->udp ? "udp" : "tcp";
}

const char *port_spec_format(const struct port_spec *spec,
                             char text[PORT_SPEC_TEXT])
{
    char address[INET_ADDRSTRLEN];

    inet_ntop(AF_INET, &spec->address, address, sizeof(address));
    g_snprintf(text, PORT_SPEC_TEXT, "%s:%u/%s", address, spec->host_port,
               port_spec_protocol(spec));
    return text;
}

bool port_spec_same_host(const struct port_spec *one,
                         const struct port_spec *other)
{
    return one->udp == other->udp && one->host_port == other->host_port &&
           one->address.s_addr == other->address.s_addr;
}
