/* SPDX-License-Identifier: Apache-2.0
 *
 * network - see network.h.
 */
#include "agent/machine/network.h"

#include <string.h>
#include <sys/socket.h>

#include "agent/base/child_log.h"
#include "agent/base/name_server.h"
#include "agent/client/control_timed.h"
#include "agent/machine/network_hint.h"
#include "agent/machine/network_parts.h"
#include "agent/machine/network_process.h"
#include "agent/machine/network_texts.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/network_link.h"
#include "common/unix_socket.h"

enum {
    NAME_SERVER_S = 3,
    /* The process ends with QEMU, which is not an error (machine.c). */
    BLAME_MS = 2000,
    /* To take a policy: many times what a busy host needs. */
    ANSWER_MS = 30000,
    /* More than an honest process sends under one policy (net/refusals.h). */
    WARNINGS_MAX = 256,
    /* Of the process, which the guest may have taken over. */
    PEER_LINE_MAX = 2 << 20,
};

/* ---- messages of the process --------------------------------------------- */

static void record_refusal(struct network *network, json_t *payload,
                           const char *text)
{
    g_autofree char *allow = network_hint_find(
        network_proxy_policy(network->proxy), payload);

    network_records_refuse(network->records, payload, text, allow);
}

/* The last connections, which come once more if the process ends after the
 * answer. */
static void record_open(struct network *network, json_t *payload)
{
    if (payload && !network->open_recorded)
        network_records_add_open(network->records,
                                 json_object_get(payload, "connections"));
    network->open_recorded = network->open_recorded || payload;
}

static void on_event(struct control_link *link, const char *type,
                     json_t *payload, void *opaque)
{
    bool refused = strcmp(type, "event.refused") == 0;
    struct network *network = opaque;
    g_autofree char *text = NULL;
    json_t *warning;

    if (strcmp(type, "event.connection") == 0 && !network->open_recorded)
        network_records_add(network->records, payload, NULL);
    if (strcmp(type, "event.connections_untold") == 0)
        network_records_miss(network->records, payload);
    if (strcmp(type, "event.connections_left") == 0)
        record_open(network, payload);
    if (!refused && strcmp(type, "event.limited") != 0)
        return;
    if (!network->proxy || network->warnings == WARNINGS_MAX)
        return;
    network->warnings++;
    warning = network_describe(network_proxy_policy(network->proxy), payload,
                               refused, &text);
    if (refused)
        record_refusal(network, payload, text);
    log_info(LOG_SESSION, "%s", text);
    network->callbacks->warning(warning, network->opaque);
}

/* on_exited() follows. */
static void on_closed(struct control_link *link, void *opaque)
{
}

static const struct control_link_callbacks link_callbacks = {
    .event = on_event,
    .closed = on_closed,
};

static void on_line(struct child *child, const char *line, void *opaque)
{
    struct network *network = opaque;

    child_log_line(NETWORK_PROGRAM, LOG_SESSION, line, &network->last_error);
}

static gboolean blame(gpointer data)
{
    struct network *network = data;
    g_autofree char *end = child_describe_exit(network->process);
    g_autoptr(GError) error = g_error_new(
        STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
        "the guest's network process has ended: " NETWORK_PROGRAM " %s%s%s",
        end, network->last_error ? ": " : "",
        network->last_error ? network->last_error : "");

    network->blame_timer = 0;
    network->callbacks->ended(error, network->opaque);
    return G_SOURCE_REMOVE;
}

static gboolean finish(gpointer data)
{
    struct network *network = data;

    network->finish_source = 0;
    network->runs = false;
    g_clear_pointer(&network->proxy, network_proxy_free);
    if (network->stopping)
        network->callbacks->ended(NULL, network->opaque);
    else
        network->blame_timer = g_timeout_add(BLAME_MS, blame, network);
    return G_SOURCE_REMOVE;
}

/* When all messages of both processes are read, as an idle source: the proxy
 * must not be freed from its own callback. */
static void on_recorded(void *opaque)
{
    struct network *network = opaque;

    network->finish_source = g_idle_add(finish, network);
}

static void on_exited(struct child *child, void *opaque)
{
    struct network *network = opaque;

    g_clear_handle_id(&network->name_server_timer, g_source_remove);
    network_asks_stop(network->asks);
    if (network->proxy)
        network_proxy_record_open(network->proxy, on_recorded, network);
    else
        on_recorded(network);
}

static const struct child_callbacks child_callbacks = {
    .line = on_line,
    .exited = on_exited,
};

/* ---- configuration ------------------------------------------------------- */

static json_t *find_name_server(void)
{
    g_autofree char *server = name_server_find();

    return server ? json_string(server) : json_null();
}

/* As net/gateway.c does. */
static const char *choose_guest_dns(void)
{
    g_autofree char *server = name_server_find();

    return g_strcmp0(server, NETWORK_LINK_DNS) == 0 ? NETWORK_LINK_OTHER_DNS
                                                    : NETWORK_LINK_DNS;
}

const char *network_guest_dns(const struct network *network)
{
    return network->guest_dns;
}

static gboolean look_for_name_server(gpointer data)
{
    struct network *network = data;

    if (name_server_changed(&network->resolv_conf))
        control_link_request(
            network->link, "configure",
            json_pack("{s:o}", "dns_server", find_name_server()), NULL, NULL);
    return G_SOURCE_CONTINUE;
}

struct change {
    struct network *network;
    control_link_done done; /* or NULL */
    void *opaque;
};

/* A process that has not taken a policy may filter by an older one: end it. The
 * guest then has no network. */
static void end_refusing(struct network *network, const GError *error)
{
    if (!network->runs || network->stopping)
        return;
    g_free(network->last_error);
    network->last_error = g_strdup_printf("it has not taken the network "
                                          "policy (%s)",
                                          error->message);
    child_kill(network->process);
}

static void on_changed(json_t *payload, const GError *error, json_t *data,
                       void *opaque)
{
    g_autofree struct change *change = opaque;
    g_autoptr(GError) ended = NULL;

    if (error) {
        end_refusing(change->network, error);
        ended = g_error_new(STEPBACK_ERROR, ERROR_BACKEND_FAILED, "%s",
                            error->message);
    }
    if (change->done)
        change->done(payload, ended, data, change->opaque);
}

static void send_policy(struct network *network,
                        const struct network_policy *policy,
                        control_link_done done, void *opaque)
{
    g_autofree struct network_policy *used = guest_trust_policy(network->trust,
                                                                policy);
    struct change *change = g_new(struct change, 1);

    *change = (struct change){ network, done, opaque };
    control_timed_request(network->link, "configure",
                          json_pack("{s:o, s:o}", "network_policy",
                                    network_policy_to_json(used), "dns_server",
                                    find_name_server()),
                          ANSWER_MS, on_changed, change);
}

void network_configure(struct network *network,
                       const struct network_policy *policy,
                       control_link_done done, void *opaque)
{
    g_autoptr(GError) error = NULL;

    network->warnings = 0;
    if (!network->proxy ||
        network_proxy_configure(network->proxy, policy, &error))
        send_policy(network, policy, done, opaque);
    else
        done(NULL, error, NULL, opaque);
}

void network_warn_again(struct network *network, control_link_done done,
                        void *opaque)
{
    network->warnings = 0;
    if (network->proxy)
        network_proxy_warn_again(network->proxy);
    control_link_request(network->link, "report_again", NULL, done, opaque);
}

/* ---- set-up -------------------------------------------------------------- */

/* The sockets between the supervisor ([0]) and the process ([1]). */
struct pairs {
    int stream[2], control[2], ports[2], names[2];
};

static void close_ends(struct pairs *pairs, int end)
{
    fd_close(&pairs->stream[end]);
    fd_close(&pairs->control[end]);
    fd_close(&pairs->ports[end]);
    fd_close(&pairs->names[end]);
}

static gboolean make_pairs(struct pairs *pairs, bool with_stream,
                           GError **error)
{
    return (!with_stream ||
            unix_socket_pair(SOCK_STREAM, ERROR_VM_LAUNCH_FAILED, pairs->stream,
                             error)) &&
           unix_socket_pair(SOCK_STREAM, ERROR_VM_LAUNCH_FAILED, pairs->control,
                            error) &&
           unix_socket_pair(SOCK_SEQPACKET, ERROR_VM_LAUNCH_FAILED,
                            pairs->ports, error) &&
           unix_socket_pair(SOCK_SEQPACKET, ERROR_VM_LAUNCH_FAILED,
                            pairs->names, error);
}

static void on_proxy_warning(json_t *payload, void *opaque)
{
    struct network *network = opaque;

    network->callbacks->warning(payload, network->opaque);
}

static void on_asked(const struct network_question *question, void *opaque)
{
    struct network *network = opaque;

    network->callbacks->asked(question, network->opaque);
}

static void on_ask_withdrawn(gint64 id, void *opaque)
{
    struct network *network = opaque;

    network->callbacks->ask_withdrawn(id, network->opaque);
}

static const struct network_asks_callbacks asks_callbacks = {
    .asked = on_asked,
    .withdrawn = on_ask_withdrawn,
};

void network_decide(struct network *network, gint64 id,
                    const struct network_answer *answer)
{
    network_asks_decide(network->asks, id, answer);
}

static gboolean begin(struct network *network, struct pairs *pairs,
                      const struct network_policy *policy,
                      const char *log_level, GError **error)
{
    network->runs = true;
    network->ports = pairs->ports[0];
    network->link = control_link_new_bounded(pairs->control[0], PEER_LINE_MAX,
                                             &link_callbacks, network);
    network->proxy = network_proxy_new(
        pairs->names[0], network->trust, network->upstream, log_level,
        network->records, network->asks, on_proxy_warning, network);
    name_server_changed(&network->resolv_conf);
    network->guest_dns = choose_guest_dns();
    if (!network_proxy_configure(network->proxy, policy, error))
        return FALSE;
    send_policy(network, policy, NULL, NULL);
    network->name_server_timer = g_timeout_add_seconds(
        NAME_SERVER_S, look_for_name_server, network);
    return TRUE;
}

struct network *network_new(const char *program,
                            const struct network_policy *policy,
                            struct guest_trust *trust,
                            const struct upstream_proxy *upstream,
                            const char *log_level, int tap,
                            const struct network_callbacks *callbacks,
                            void *opaque, int *ret_fd, GError **error)
{
    struct pairs pairs = { { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } };
    struct network *network = g_new0(struct network, 1);

    network->records = network_records_new(callbacks->record, callbacks->missed,
                                           opaque);
    network->asks = network_asks_new(&asks_callbacks, network);
    network->trust = trust;
    network->upstream = upstream;
    network->callbacks = callbacks;
    network->opaque = opaque;
    if (make_pairs(&pairs, tap < 0, error))
        network->process = network_process_spawn(
            &(struct network_process){
                .name = NETWORK_PROGRAM,
                .path = program,
                .log_level = log_level,
                .fds = { { "stream-fd", tap >= 0 ? tap : pairs.stream[1] },
                         { "control-fd", pairs.control[1] },
                         { "ports-fd", pairs.ports[1] },
                         { "names-fd", pairs.names[1] } } },
            &child_callbacks, network, error);
    close_ends(&pairs, 1);
    if (!network->process) {
        close_ends(&pairs, 0);
        network_records_free(network->records);
        network_asks_free(network->asks);
        g_free(network);
        return NULL;
    }
    if (!begin(network, &pairs, policy, log_level, error)) {
        fd_close(&pairs.stream[0]);
        network_free(network);
        return NULL;
    }
    *ret_fd = pairs.stream[0];
    return network;
}

bool network_runs(const struct network *network)
{
    return network->runs;
}

/* The proxy ends first: it would report the ends of what was recorded. Also
 * called from network_free(). */
static void on_last(json_t *payload, const GError *error, json_t *data,
                    void *opaque)
{
    struct network *network = opaque;

    if (!network->runs)
        return;
    record_open(network, payload);
    g_clear_pointer(&network->proxy, network_proxy_free);
    network_asks_stop(network->asks);
    child_kill(network->process);
}

static void on_proxy_last(void *opaque)
{
    struct network *network = opaque;

    if (network->runs)
        control_timed_request(network->link, "connections", NULL,
                              NETWORK_LAST_MS, on_last, network);
}

void network_stop(struct network *network)
{
    if (network->stopping)
        return;
    network->stopping = true;
    if (network->proxy)
        network_proxy_record_open(network->proxy, on_proxy_last, network);
    else
        on_proxy_last(network);
}

void network_free(struct network *network)
{
    if (!network)
        return;
    network->runs = false;
    g_clear_handle_id(&network->name_server_timer, g_source_remove);
    g_clear_handle_id(&network->blame_timer, g_source_remove);
    g_clear_pointer(&network->proxy, network_proxy_free);
    g_clear_handle_id(&network->finish_source, g_source_remove);
    child_free(network->process);
    control_link_free(network->link);
    fd_close(&network->ports);
    network_records_free(network->records);
    network_asks_free(network->asks);
    g_free(network->last_error);
    g_free(network);
}
