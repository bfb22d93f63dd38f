/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_ports - the tools publish_port and unpublish_port; see mcp_state.h.
 *
 * A model can only open ports of the host's loopback. Other addresses are the
 * user's to open (stepback port).
 */
#include <arpa/inet.h>

#include "agent/mcp/mcp_ready.h"
#include "agent/mcp/mcp_state.h"
#include "agent/mcp/mcp_text.h"
#include "agent/wire/port_json.h"

enum { UNPRIVILEGED = 1024 };

struct publish {
    struct mcp_call *call; /* NULL: cancelled */
    struct session *session;
    struct port_spec spec;
    bool same; /* the guest's port number was tried, any other will do */
};

static void on_cancelled(struct mcp_call *call, void *opaque)
{
    struct publish *publish = opaque;

    publish->call = NULL;
    mcp_call_finish(call, json_object());
}

static struct publish *publish_new(struct mcp_call *call, json_t *arguments)
{
    struct publish *publish = g_new0(struct publish, 1);
    json_t *protocol = json_object_get(arguments, "protocol");

    publish->call = call;
    publish->session = mcp_ready_session(call);
    publish->spec = (struct port_spec){
        .udp = g_strcmp0(json_string_value(protocol), "udp") == 0,
        .address.s_addr = htonl(INADDR_LOOPBACK),
        .host_port = (guint16)json_integer_value(
            json_object_get(arguments, "host_port")),
        .guest_port = (guint16)json_integer_value(
            json_object_get(arguments, "guest_port")),
    };
    mcp_call_set_cancelled(call, on_cancelled, publish);
    return publish;
}

static void refuse(struct mcp_call *call, guint16 host_port,
                   const GError *error)
{
    switch (error_code_of(error)) {
    case ERROR_PORT_TAKEN:
        mcp_tools_refuse(call,
                         "port %u of the host: another program uses it; leave "
                         "out 'host_port' for a free one",
                         host_port);
        break;
    case ERROR_NOT_FOUND:
        mcp_tools_refuse(call,
                         "port %u of the host: not published at 127.0.0.1; "
                         "list_processes lists the published ports",
                         host_port);
        break;
    default:
        mcp_tools_refuse(call, "%s", error->message);
    }
}

static void succeed(struct mcp_call *call, const struct port_spec *spec,
                    bool added)
{
    json_t *result = port_to_json(spec);

    if (added && !spec->udp) {
        g_autofree char *url = g_strdup_printf("http://127.0.0.1:%u/",
                                               spec->host_port);

        json_object_set_new(result, "url", json_string(url));
    }
    mcp_tools_finish(call, mcp_text_port(result, added), result);
}

/* Free publish, and finish its call. */
static void finish(struct publish *publish, const struct port_spec *spec,
                   const GError *error, bool added)
{
    struct mcp_call *call = publish->call;
    guint16 host_port = publish->spec.host_port;

    g_free(publish);
    if (!call)
        return;
    mcp_call_set_cancelled(call, NULL, NULL);
    if (error)
        refuse(call, host_port, error);
    else
        succeed(call, spec, added);
}

/* ---- publish ------------------------------------------------------------- */

static void add(struct publish *publish);

static void on_added(const struct answer *answer, const GError *error,
                     void *opaque)
{
    struct publish *publish = opaque;

    if (error && publish->same && publish->call &&
        error_code_of(error) == ERROR_PORT_TAKEN) {
        publish->same = false;
        publish->spec.host_port = 0;
        add(publish);
        return;
    }
    finish(publish, answer ? answer->port : NULL, error, true);
}

static void add(struct publish *publish)
{
    session_port_add(publish->session, &publish->spec, on_added, publish);
}

/* Find a port of the loopback that leads to the same one of the guest. */
static bool find_published(const struct publish *publish,
                           struct port_spec *ret_spec)
{
    const struct guest_ports *open;
    GArray *published;
    bool found = false;

    if (!session_port_list(publish->session, &published, &open, NULL))
        return false;
    for (guint i = 0; !found && i < published->len; i++) {
        const struct port_spec *spec = &g_array_index(published,
                                                      struct port_spec, i);

        found = spec->guest_port == publish->spec.guest_port &&
                spec->udp == publish->spec.udp &&
                spec->address.s_addr == publish->spec.address.s_addr &&
                (!publish->spec.host_port ||
                 spec->host_port == publish->spec.host_port);
        if (found)
            *ret_spec = *spec;
    }
    g_array_unref(published);
    return found;
}

static void start(struct mcp_call *call, json_t *arguments)
{
    struct publish *publish = publish_new(call, arguments);
    struct port_spec known;

    if (find_published(publish, &known)) {
        finish(publish, &known, NULL, true);
        return;
    }
    if (!publish->spec.host_port && publish->spec.guest_port >= UNPRIVILEGED) {
        publish->spec.host_port = publish->spec.guest_port;
        publish->same = true;
    }
    add(publish);
}

void mcp_tool_publish_port(struct mcp_call *call, json_t *arguments)
{
    mcp_ready_run(call, arguments, start);
}

/* ---- unpublish ----------------------------------------------------------- */

static void on_removed(const struct answer *answer, const GError *error,
                       void *opaque)
{
    finish(opaque, answer ? answer->port : NULL, error, false);
}

void mcp_tool_unpublish_port(struct mcp_call *call, json_t *arguments)
{
    struct publish *publish = publish_new(call, arguments);

    session_port_remove(publish->session, &publish->spec, on_removed, publish);
}
