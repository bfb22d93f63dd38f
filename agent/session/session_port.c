/* SPDX-License-Identifier: Apache-2.0
 *
 * session_port - see session.h: published ports.
 */
#include "agent/session/session_port.h"

#include "agent/session/session.h"
#include "agent/machine/published_ports.h"
#include "common/errors.h"

struct change {
    struct session *session;
    struct port_spec spec;
    gint64 id;
    reply_done done;
    void *opaque;
};

/* Return the published ports: a new array of struct port_spec. */
static GArray *get_published(struct session *session)
{
    const struct published_ports *ports = machine_ports(session->machine);
    GArray *list = g_array_new(FALSE, FALSE, sizeof(struct port_spec));

    for (unsigned i = 0; i < published_ports_count(ports); i++)
        g_array_append_val(list, published_ports_get(ports, i)->spec);
    return list;
}

void session_port_keep(struct session *session)
{
    g_array_unref(session->config->ports);
    session->config->ports = get_published(session);
}

/* ---- add and remove ------------------------------------------------------ */

static struct change *change_new(struct session *session,
                                 const struct published_port *port,
                                 reply_done done, void *opaque)
{
    struct change *change = g_new(struct change, 1);

    *change = (struct change){ session, port->spec, port->id, done, opaque };
    return change;
}

/* Answer with the port, and free the change. A machine that ends meanwhile
 * fails the request, and is about to be freed. */
static void finish(struct change *change, const GError *error)
{
    struct answer answer = { .port = &change->spec };

    if (change->session->machine && change->session->config)
        session_port_keep(change->session);
    change->done(error ? NULL : &answer, error, change->opaque);
    g_free(change);
}

static void on_added(json_t *payload, const GError *error, json_t *data,
                     void *opaque)
{
    struct change *change = opaque;

    if (error && change->session->machine)
        published_ports_remove(machine_ports(change->session->machine),
                               change->id);
    finish(change, error);
}

static void on_removed(json_t *payload, const GError *error, json_t *data,
                       void *opaque)
{
    finish(opaque, error);
}

static gboolean check_network(struct session *session, GError **error)
{
    struct network *network;

    if (!session_check_running(session, error))
        return FALSE;
    network = machine_network(session->machine);
    if (network && network_runs(network))
        return TRUE;
    g_set_error_literal(
        error, STEPBACK_ERROR, ERROR_NO_NETWORK,
        network ? "the guest's network process has ended; session.reset "
                  "restarts the machine with a new one"
                : "a guest without a network card cannot publish ports; start "
                  "the session with the network policy {\"allow\":[]} "
                  "(--network=''), which has a card and blocks everything "
                  "else");
    return FALSE;
}

void session_port_add(struct session *session, const struct port_spec *spec,
                      reply_done done, void *opaque)
{
    const struct published_port *port = NULL;
    GError *error = NULL;

    if (check_network(session, &error))
        port = published_ports_add(machine_ports(session->machine), spec,
                                   &error);
    if (!port) {
        reply_post_error(done, opaque, error);
        return;
    }
    network_publish(machine_network(session->machine), port, on_added,
                    change_new(session, port, done, opaque));
}

void session_port_remove(struct session *session, const struct port_spec *spec,
                         reply_done done, void *opaque)
{
    const struct published_port *port = NULL;
    struct change *change;
    GError *error = NULL;
    char text[PORT_SPEC_TEXT];

    if (check_network(session, &error)) {
        port = published_ports_find(machine_ports(session->machine), spec);
        if (!port)
            g_set_error(&error, STEPBACK_ERROR, ERROR_NOT_FOUND,
                        "%s: not a published port; 'stepback port' lists them",
                        port_spec_format(spec, text));
    }
    if (!port) {
        reply_post_error(done, opaque, error);
        return;
    }
    change = change_new(session, port, done, opaque);
    published_ports_remove(machine_ports(session->machine), change->id);
    network_unpublish(machine_network(session->machine), change->id, on_removed,
                      change);
}

gboolean session_port_list(struct session *session, GArray **ret_published,
                           const struct guest_ports **ret_open, GError **error)
{
    if (!session_check_running(session, error))
        return FALSE;
    *ret_published = get_published(session);
    *ret_open = machine_guest_ports(session->machine);
    return TRUE;
}
