/* SPDX-License-Identifier: Apache-2.0
 *
 * connections - see connections.h.
 */
#include "proxy/connections.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/errors.h"
#include "common/fd.h"
#include "proxy/address_rules.h"
#include "proxy/dial.h"
#include "proxy/tls_context.h"
#include "proxy/tls_end.h"

enum { TICK_MS = 250 };

struct connections {
    struct connections_world world;
    const struct connections_callbacks *callbacks;
    void *opaque;
    struct network_policy policy;
    struct interception interception;
    struct upstream_server upstreams[UPSTREAMS_MAX];
    struct asks *asks;
    GHashTable *open; /* by id */
    gint64 last_id;
    guint tick_timer;
    guint64 total, refused;
    guint64 from_guest, to_guest; /* of connections that have ended */
};

static bool request_leaf(const char *name, void *opaque)
{
    struct connections *connections = opaque;

    return connections->callbacks->certify(name, connections->opaque);
}

static void on_exchange(const struct intercepted_request *request, void *opaque)
{
    struct connections *connections = opaque;

    connections->callbacks->exchanged(request, connections->opaque);
}

static const struct asks_callbacks asks_callbacks;

struct connections *
connections_new(const struct connections_world *world,
                const struct connections_callbacks *callbacks, void *opaque,
                GError **error)
{
    struct connections *connections = g_new0(struct connections, 1);

    connections->world = *world;
    connections->callbacks = callbacks;
    connections->opaque = opaque;
    connections->policy.kind = NETWORK_DISABLED;
    connections->last_id = -1;
    connections->open = g_hash_table_new_full(
        g_int64_hash, g_int64_equal, NULL,
        (GDestroyNotify)(void (*)(void))connection_free);
    connections->asks = asks_new(world->poller, &asks_callbacks, connections);
    connections->interception = (struct interception){
        .to_servers = world->to_servers,
        .to_guests = tls_context_new(TLS_server_method()),
        .leaves = leaves_new(request_leaf, connections),
        .policy = &connections->policy,
        .secrets = secrets_new(),
        .exchanged = on_exchange,
        .opaque = connections,
    };
    if (connections->interception.to_guests) {
        tls_end_prepare_guests(connections->interception.to_guests);
        return connections;
    }
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                        "no memory for OpenSSL");
    connections_free(connections);
    return NULL;
}

void connections_free(struct connections *connections)
{
    if (!connections)
        return;
    g_clear_handle_id(&connections->tick_timer, g_source_remove);
    asks_free(connections->asks);
    g_hash_table_unref(connections->open);
    leaves_free(connections->interception.leaves);
    secrets_free(connections->interception.secrets);
    SSL_CTX_free(connections->interception.to_guests);
    for (unsigned i = 0; i < UPSTREAMS_MAX; i++)
        upstream_server_clear(&connections->upstreams[i]);
    g_free(connections);
}

static bool permits(struct connections *connections,
                    const struct connection *connection,
                    const struct network_address *address)
{
    return address_rules_permit(&connections->policy, address,
                                connection_target(connection)->port,
                                host_routes_is_host, connections->world.routes);
}

static bool permits_all(struct connections *connections,
                        const struct connection *connection)
{
    const struct network_address *list;
    unsigned count = connection_addresses(connection, &list);

    for (unsigned i = 0; i < count; i++) {
        if (!permits(connections, connection, &list[i]))
            return false;
    }
    return true;
}

/* Return the check of a verdict: the stricter, the less. */
static enum guest_check_kind kind_of(enum network_name_verdict verdict)
{
    switch (verdict) {
    case NAME_WEB:
        return GUEST_CHECK_WEB;
    case NAME_PORT:
        return GUEST_CHECK_PORT;
    case NAME_RAW:
        return GUEST_CHECK_RAW;
    case NAME_INTERCEPT:
    case NAME_ASK:
    case NAME_DENIED:
        break;
    }
    return GUEST_CHECK_INTERCEPT;
}

/* Return why the policy does not allow a connection that is open, or NULL. */
static const char *find_objection(struct connections *connections,
                                  const struct connection *connection)
{
    const struct connection_target *target = connection_target(connection);
    enum network_name_verdict verdict = network_policy_judge_name(
        &connections->policy, target->name, target->port);

    if (verdict == NAME_DENIED)
        return "the policy no longer allows the name";
    if (verdict == NAME_ASK && !target->asked)
        return "the policy now asks for the name; connect again";
    verdict = network_policy_judge_allowed(&connections->policy, target->name,
                                           target->port);
    if (kind_of(verdict) < target->kind)
        return "the policy now checks the name more; connect again";
    if (!connection_is_allowed(connection))
        return "the policy no longer allows a request that runs";
    return permits_all(connections, connection)
               ? NULL
               : "the policy no longer allows the server's address";
}

void connections_configure(struct connections *connections,
                           const struct network_policy *policy)
{
    g_autoptr(GList) all = g_hash_table_get_values(connections->open);

    connections->policy = *policy;
    for (GList *at = all; at; at = at->next) {
        const char *objection = find_objection(connections, at->data);

        if (objection)
            connection_revoke(at->data, objection);
    }
    asks_review(connections->asks, policy);
}

bool connections_decide(struct connections *connections,
                        const struct asks_decision *decision)
{
    return asks_decide(connections->asks, decision);
}

void connections_set_upstream(struct connections *connections, unsigned i,
                              unsigned port, const char *authorization)
{
    struct upstream_server *server = &connections->upstreams[i];

    upstream_server_clear(server);
    *server = (struct upstream_server){ port, g_strdup(authorization) };
}

gboolean connections_set_secrets(struct connections *connections, json_t *list,
                                 GError **error)
{
    return secrets_configure(connections->interception.secrets, list, error);
}

/* ---- a connection's life ------------------------------------------------- */

static gboolean tick(gpointer data)
{
    struct connections *connections = data;
    g_autoptr(GList) all = g_hash_table_get_values(connections->open);
    gint64 now = g_get_monotonic_time();

    for (GList *at = all; at; at = at->next) {
        if (connection_needs_ticks(at->data))
            connection_tick(at->data, now);
    }
    /* Any that is open can need a tick later. */
    if (g_hash_table_size(connections->open) == 0)
        connections->tick_timer = 0;
    return connections->tick_timer != 0;
}

static void on_ended(struct connection *connection,
                     const struct connection_report *report, void *opaque)
{
    struct connections *connections = opaque;

    if (report->refused)
        connections->refused++;
    connections->from_guest += report->from_guest;
    connections->to_guest += report->to_guest;
    connections->callbacks->ended(report, connections->opaque);
    g_hash_table_remove(connections->open, &report->target->id);
}

static void refuse(struct connections *connections,
                   const struct connection_target *target, const char *reason)
{
    const struct connection_report report = {
        .target = target,
        .refused = true,
        .reason = reason,
    };

    connections->refused++;
    connections->callbacks->ended(&report, connections->opaque);
}

static unsigned count_intercepted(const struct connections *connections)
{
    GHashTableIter iter;
    gpointer connection;
    unsigned count = 0;

    g_hash_table_iter_init(&iter, connections->open);
    while (g_hash_table_iter_next(&iter, NULL, &connection))
        count += connection_target(connection)->kind == GUEST_CHECK_INTERCEPT;
    return count;
}

/* Begin a connection that the policy, or a user, allows. */
static void begin(struct connections *connections,
                  const struct connection_target *target, int fd)
{
    fd_auto int guest = fd;
    struct connection_target chosen = *target;
    struct connection *connection = NULL;
    enum network_name_verdict verdict = network_policy_judge_allowed(
        &connections->policy, target->name, target->port);

    /* The guest may have taken stepback-net over: the stricter check counts. */
    chosen.kind = MIN(kind_of(verdict), target->kind);
    if (chosen.kind == GUEST_CHECK_INTERCEPT &&
        count_intercepted(connections) >= INTERCEPTED_MAX) {
        refuse(connections, target,
               "the sandbox has 250 intercepted connections");
        return;
    }
    connection = connection_new(connections->world.poller, &chosen,
                                &connections->interception, fd_steal(&guest),
                                on_ended, connections);
    if (!connection) {
        refuse(connections, target, "the guest's socket cannot be watched");
        return;
    }
    g_hash_table_insert(connections->open,
                        (gpointer)&connection_target(connection)->id,
                        connection);
    if (!connections->tick_timer)
        connections->tick_timer = g_timeout_add(TICK_MS, tick, connections);
    if (!connections->callbacks->resolve(target, connections->opaque))
        connection_give_up(connection, NULL, "the name cannot be resolved now");
}

static void refuse_denied(struct connections *connections,
                          const struct connection_target *target)
{
    g_autofree char *rule = network_policy_find_exception(
        &connections->policy, target->name, target->port, NULL, NULL);
    g_autofree char *reason =
        rule ? g_strdup_printf("the network policy's entry %s forbids it", rule)
             : g_strdup("the policy does not allow the name");

    refuse(connections, target, reason);
}

void connections_add(struct connections *connections,
                     const struct connection_target *target, int fd)
{
    fd_auto int guest = fd;
    enum network_name_verdict verdict = network_policy_judge_name(
        &connections->policy, target->name, target->port);

    connections->total++;
    if (target->id <= connections->last_id) {
        refuse(connections, target, "its number is not new");
        return;
    }
    connections->last_id = target->id;
    if (g_hash_table_size(connections->open) + asks_count(connections->asks) >=
        CONNECTIONS_MAX) {
        refuse(connections, target, "the sandbox has 1000 connections");
        return;
    }
    if (verdict == NAME_DENIED)
        refuse_denied(connections, target);
    else if (verdict == NAME_ASK)
        asks_hold(connections->asks, target, fd_steal(&guest));
    else
        begin(connections, target, fd_steal(&guest));
}

/* ---- questions ----------------------------------------------------------- */

static bool send_ask(gint64 id, const char *name, unsigned port, void *opaque)
{
    struct connections *connections = opaque;

    return connections->callbacks->ask(id, name, port, connections->opaque);
}

static void withdraw_ask(gint64 id, void *opaque)
{
    struct connections *connections = opaque;

    connections->callbacks->withdrawn(id, connections->opaque);
}

static void on_allowed(const struct connection_target *target, int fd,
                       void *opaque)
{
    begin(opaque, target, fd);
}

static void on_held_ended(const struct connection_report *report, void *opaque)
{
    struct connections *connections = opaque;

    connections->refused += report->refused;
    connections->callbacks->ended(report, connections->opaque);
}

static const struct asks_callbacks asks_callbacks = {
    .ask = send_ask,
    .withdrawn = withdraw_ask,
    .allowed = on_allowed,
    .ended = on_held_ended,
};

/* ---- addresses ----------------------------------------------------------- */

void connections_resolved(struct connections *connections, gint64 id,
                          const struct network_address *addresses,
                          unsigned count, const char *problem)
{
    struct connection *connection = g_hash_table_lookup(connections->open, &id);
    struct network_address permitted[DIAL_ADDRESSES];
    g_autofree char *reason = NULL;
    char text[INET6_ADDRSTRLEN];
    unsigned found = 0;

    if (!connection)
        return;
    for (unsigned i = 0; i < count && found < DIAL_ADDRESSES; i++) {
        if (permits(connections, connection, &addresses[i]))
            permitted[found++] = addresses[i];
    }
    if (found > 0) {
        connection_dial(connection, permitted, found, NULL);
        return;
    }
    if (count > 0)
        reason = g_strdup_printf(
            "the name has no public address (%s); to allow it, list it, too",
            network_address_format(&addresses[0], text));
    else
        reason = g_strdup_printf("cannot resolve the name: %s",
                                 problem ? problem : "it has no address");
    connection_give_up(connection, count > 0 ? text : NULL, reason);
}

void connections_resolved_upstream(struct connections *connections, gint64 id,
                                   unsigned i,
                                   const struct network_address *addresses,
                                   unsigned count, const char *problem)
{
    struct connection *connection = g_hash_table_lookup(connections->open, &id);
    const struct upstream_server *server = &connections->upstreams[i];
    g_autofree char *reason = NULL;

    if (!connection)
        return;
    if (count > 0 && server->port > 0) {
        connection_dial(connection, addresses, count, server);
        return;
    }
    reason = g_strdup_printf("cannot resolve the upstream proxy's name: %s",
                             problem ? problem : "it has no address");
    connection_give_up(connection, NULL, reason);
}

void connections_certified(struct connections *connections, const char *name,
                           const char *chain, const char *key,
                           const char *problem)
{
    g_autoptr(GList) all = g_hash_table_get_values(connections->open);

    leaves_put(connections->interception.leaves, name, chain, key, problem);
    for (GList *at = all; at; at = at->next) {
        if (strcmp(connection_target(at->data)->name, name) == 0)
            connection_go_on(at->data);
    }
}

void connections_list(const struct connections *connections,
                      void (*add)(const struct connection_report *report,
                                  void *opaque),
                      void *opaque)
{
    GHashTableIter iter;
    gpointer connection;

    g_hash_table_iter_init(&iter, connections->open);
    while (g_hash_table_iter_next(&iter, NULL, &connection)) {
        struct connection_report report;

        connection_describe(connection, &report);
        add(&report, opaque);
    }
    asks_list(connections->asks, add, opaque);
}

void connections_drop(struct connections *connections)
{
    g_hash_table_remove_all(connections->open);
}

static void add_open(gpointer key, gpointer value, gpointer data)
{
    struct connections_counts *counts = data;

    counts->from_guest += connection_from_guest(value);
    counts->to_guest += connection_to_guest(value);
}

struct connections_counts
connections_count(const struct connections *connections)
{
    struct connections_counts counts = {
        .open = g_hash_table_size(connections->open) +
                asks_count(connections->asks),
        .total = connections->total,
        .refused = connections->refused,
        .from_guest = connections->from_guest,
        .to_guest = connections->to_guest,
    };

    g_hash_table_foreach(connections->open, add_open, &counts);
    return counts;
}
