/* SPDX-License-Identifier: Apache-2.0
 *
 * network_figures - see network.h: its state and connections, and published
 * ports.
 */
#include "agent/machine/network.h"

#include <sys/socket.h>

#include "agent/base/port_spec.h"
#include "agent/machine/network_parts.h"
#include "common/fd_message.h"
#include "common/log.h"

struct status {
    struct network *network;
    control_link_done done;
    void *opaque;
    json_t *payload; /* of the network's process; owned */
};

/* A proxy that does not answer has no figures. */
static void on_proxy_status(json_t *payload, const GError *error, json_t *data,
                            void *opaque)
{
    struct status *status = opaque;

    if (payload) {
        json_object_set(status->payload, "names", payload);
        json_object_set_new(status->payload, "upstream",
                            upstream_proxy_describe(status->network->upstream));
    }
    status->done(status->payload, NULL, NULL, status->opaque);
    json_decref(status->payload);
    g_free(status);
}

static void on_status(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct status *status = opaque;

    if (payload && status->network->proxy) {
        status->payload = json_copy(payload);
        /* Not the process's, which the guest may have taken over: a client may
         * change the policy that it reads here. */
        json_object_set_new(status->payload, "network_policy",
                            network_policy_to_json(
                                network_proxy_policy(status->network->proxy)));
        json_object_set_new(status->payload, "connections",
                            network_records_count(status->network->records));
        network_proxy_get_status(status->network->proxy, on_proxy_status,
                                 status);
        return;
    }
    status->done(payload, error, data, status->opaque);
    g_free(status);
}

void network_get_status(struct network *network, control_link_done done,
                        void *opaque)
{
    struct status *status = g_new0(struct status, 1);

    *status = (struct status){ network, done, opaque, NULL };
    control_link_request(network->link, "status", NULL, on_status, status);
}

/* Without the process's answer the proxy's connections are still known. */
static void on_connections(json_t *payload, const GError *error, json_t *data,
                           void *opaque)
{
    struct status *status = opaque;
    struct network *network = status->network;
    json_t *open = json_object_get(payload, "connections"), *answer;

    if (network->proxy) {
        network_proxy_get_connections(network->proxy, open, status->done,
                                      status->opaque);
    } else {
        answer = network_records_to_json(network->records, open);
        status->done(answer, NULL, NULL, status->opaque);
        json_decref(answer);
    }
    g_free(status);
}

void network_get_connections(struct network *network, control_link_done done,
                             void *opaque)
{
    struct status *status = g_new0(struct status, 1);

    *status = (struct status){ network, done, opaque, NULL };
    control_link_request(network->link, "connections", NULL, on_connections,
                         status);
}

/* ---- published ports ----------------------------------------------------- */

/* Send a socket with one byte. If that fails, the process finds none, and the
 * request fails. */
static void send_socket(int channel, int fd)
{
    char byte = 0;
    int rc = fd_message_send(channel, &byte, sizeof(byte), &fd, 1,
                             MSG_DONTWAIT);

    if (rc < 0)
        log_warn(LOG_SESSION, NETWORK_PROGRAM ": cannot send a socket: %s",
                 g_strerror(-rc));
}

void network_publish(struct network *network, const struct published_port *port,
                     control_link_done done, void *opaque)
{
    send_socket(network->ports, port->fd);
    control_link_request(network->link, "port.add",
                         json_pack("{s:I, s:s, s:i}", "id",
                                   (json_int_t)port->id, "protocol",
                                   port_spec_protocol(&port->spec),
                                   "guest_port", (int)port->spec.guest_port),
                         done, opaque);
}

void network_unpublish(struct network *network, gint64 id,
                       control_link_done done, void *opaque)
{
    control_link_request(network->link, "port.remove",
                         json_pack("{s:I}", "id", (json_int_t)id), done,
                         opaque);
}
