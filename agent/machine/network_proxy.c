/* SPDX-License-Identifier: Apache-2.0
 *
 * network_proxy - see network_proxy.h.
 */
#include "agent/machine/network_proxy.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/base/child.h"
#include "agent/base/child_log.h"
#include "agent/base/install_paths.h"
#include "agent/client/control_timed.h"
#include "agent/machine/name_lookup.h"
#include "agent/machine/network_certificates.h"
#include "agent/machine/network_hint.h"
#include "agent/machine/network_process.h"
#include "agent/machine/network_secrets.h"
#include "agent/machine/trust_file.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/json_strings.h"
#include "common/log.h"
#include "common/unix_socket.h"

enum {
    RESTART_MS = 1000, /* doubled by each end within a minute */
    RESTART_MAX_MS = 60000,
    /* To take a policy: many times what a busy host needs. */
    ANSWER_MS = 30000,
    /* Different refusals that are reported until the next policy. */
    TOLD_MAX = 64,
    TEXT_MAX = 512,
    /* Of the process, which the guest may have taken over. */
    PEER_LINE_MAX = 2 << 20,
};

struct network_proxy {
    int channel;
    char *log_level;
    struct guest_trust *trust;
    const struct upstream_proxy *upstream;
    struct network_records *records;
    struct network_asks *asks;
    network_proxy_warning warning;
    void *opaque;
    struct network_policy policy;
    struct network_policy *used; /* with the hosts of secrets; NULL: none yet */
    struct child *process;       /* NULL: not needed yet, or ended */
    struct control_link *link;
    struct name_lookup *lookup;
    struct network_certificates *certificates;
    guint restart_timer;
    unsigned restart_ms; /* before the next start; 0: RESTART_MS */
    gint64 began;        /* the last start: monotonic, us */
    GHashTable *told;    /* texts */
    char *last_error;
};

/* ---- names --------------------------------------------------------------- */

struct query {
    struct network_proxy *proxy;
    json_int_t id;
    unsigned port;
    int upstream; /* the position of a proxy, whose addresses are wanted; or -1
                   */
};

/* An exception for all connections includes the names that lead to its name.
 * Only the last one of a chain of aliases is known. */
static void on_found(char *const *addresses, const char *canonical,
                     const char *problem, void *opaque)
{
    struct query *query = opaque;
    g_autofree char *excepted = NULL, *rule = NULL;
    json_t *answer;

    if (canonical && query->upstream < 0)
        rule = network_policy_find_exception(&query->proxy->policy, canonical,
                                             query->port, NULL, NULL);
    if (rule) {
        excepted = g_strdup_printf(
            "it leads to %s, which the network policy's entry %s forbids",
            canonical, rule);
        problem = excepted;
        addresses = NULL;
    }
    answer = json_pack("{s:I, s:o?, s:s?}", "id", query->id, "addresses",
                       addresses ? json_strings(addresses) : NULL, "error",
                       problem);
    if (query->upstream >= 0)
        json_object_set_new(answer, "upstream", json_integer(query->upstream));
    control_link_request(query->proxy->link, "resolved", answer, NULL, NULL);
    g_free(query);
}

static void resolve(struct network_proxy *proxy, json_t *payload)
{
    const char *name = json_string_value(json_object_get(payload, "name"));
    json_int_t port = json_integer_value(json_object_get(payload, "port"));
    const char *host = name;
    struct query *query;

    if (!name)
        return;
    query = g_new(struct query, 1);
    *query = (struct query){
        proxy, json_integer_value(json_object_get(payload, "id")),
        (unsigned)port,
        upstream_proxy_find(proxy->upstream, name, (unsigned)port, &host)
    };
    /* The policy is asked again: the proxy reads data of the guest. An open
     * network lists no names, but a guest may still use the addresses that it
     * has got for some. */
    if (proxy->policy.kind != NETWORK_OPEN &&
        !network_policy_allows_name(&proxy->policy, name) &&
        !(network_policy_judge_name(&proxy->policy, name, (unsigned)port) ==
              NAME_ASK &&
          network_asks_has_allowed(proxy->asks, name)))
        on_found(NULL, NULL, "the network policy does not list it", query);
    else
        name_lookup_start(proxy->lookup, host, query->upstream >= 0, on_found,
                          query);
}

/* ---- certificates -------------------------------------------------------- */

static void send_certificate(json_t *payload, void *opaque)
{
    struct network_proxy *proxy = opaque;

    control_link_request(proxy->link, "certificate", payload, NULL, NULL);
}

/* ---- messages of the process --------------------------------------------- */

static const char *text_of(json_t *payload, const char *key)
{
    const char *text = json_string_value(json_object_get(payload, key));

    return text ? text : "";
}

/* Return a new string. */
static char *short_text_of(json_t *payload, const char *key)
{
    g_autofree char *start = g_strndup(text_of(payload, key), TEXT_MAX);

    return g_utf8_make_valid(start, -1);
}

/* Report a connection that was refused, or failed, once for each reason. */
static void report_connection(struct network_proxy *proxy, json_t *payload)
{
    json_int_t port = json_integer_value(json_object_get(payload, "port"));
    bool refused = strcmp(text_of(payload, "verdict"), "refused") == 0;
    g_autofree char *name = short_text_of(payload, "name");
    g_autofree char *reason = short_text_of(payload, "reason");
    g_autofree char *text = NULL;

    if (!refused && !reason[0])
        return;
    text = g_strdup_printf("connection to %s (tcp port %" JSON_INTEGER_FORMAT
                           "): %s",
                           name, port, reason);
    if (g_hash_table_size(proxy->told) >= TOLD_MAX ||
        !g_hash_table_add(proxy->told, g_strdup(text)))
        return;
    log_info(LOG_SESSION, "%s", text);
    proxy->warning(json_pack("{s:s, s:s, s:s, s:s, s:I, s:i}", "code",
                             refused ? "network_refused" : "network_failed",
                             "message", text, "destination", name, "protocol",
                             "tcp", "port", port, "count", 1),
                   proxy->opaque);
}

/* Return the rule that would allow it, or NULL: a new string. */
static char *hint_of(const struct network_proxy *proxy, json_t *payload)
{
    return network_hint_check(
        &proxy->policy, json_string_value(json_object_get(payload, "name")),
        json_string_value(json_object_get(payload, "allow")));
}

static void on_event(struct control_link *link, const char *type,
                     json_t *payload, void *opaque)
{
    struct network_proxy *proxy = opaque;
    g_autofree char *hint = hint_of(proxy, payload);

    if (strcmp(type, "event.resolve") == 0)
        resolve(proxy, payload);
    else if (strcmp(type, "event.certificate") == 0)
        network_certificates_request(proxy->certificates, proxy->used, payload);
    else if (strcmp(type, "event.request") == 0)
        network_records_add_request(proxy->records, payload, hint);
    else if (strcmp(type, "event.requests_untold") == 0)
        network_records_miss_requests(proxy->records, payload);
    else if (strcmp(type, "event.connections_untold") == 0)
        network_records_miss(proxy->records, payload);
    else if (strcmp(type, "event.connection") == 0) {
        network_records_add(proxy->records, payload, hint);
        report_connection(proxy, payload);
    } else
        network_asks_take(proxy->asks, link, &proxy->policy, type, payload);
}

/* on_exited() follows. */
static void on_closed(struct control_link *link, void *opaque)
{
}

static const struct control_link_callbacks link_callbacks = {
    .event = on_event,
    .closed = on_closed,
};

/* ---- the process --------------------------------------------------------- */

static void stop(struct network_proxy *proxy)
{
    g_clear_pointer(&proxy->lookup, name_lookup_free);
    g_clear_pointer(&proxy->link, control_link_free);
    g_clear_pointer(&proxy->process, child_free);
    network_certificates_clear(proxy->certificates);
}

static gboolean restart(gpointer data);

static void restart_later(struct network_proxy *proxy)
{
    bool lived = g_get_monotonic_time() - proxy->began >=
                 (gint64)RESTART_MAX_MS * 1000;

    if (lived || proxy->restart_ms == 0)
        proxy->restart_ms = RESTART_MS;
    proxy->restart_timer = g_timeout_add(proxy->restart_ms, restart, proxy);
    proxy->restart_ms = MIN(2 * proxy->restart_ms, RESTART_MAX_MS);
}

static void warn_restart(struct network_proxy *proxy, const char *text)
{
    log_error(LOG_SESSION, "%s", text);
    proxy->warning(
        json_pack("{s:s, s:s}", "code", "network_restarted", "message", text),
        proxy->opaque);
}

static gboolean restart(gpointer data)
{
    struct network_proxy *proxy = data;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;

    proxy->restart_timer = 0;
    if (network_proxy_configure(proxy, &proxy->policy, &error))
        return G_SOURCE_REMOVE;
    restart_later(proxy);
    text = g_strdup_printf("the proxy for the guest's connections to names "
                           "cannot be started again (%s); the next attempt is "
                           "made after a pause",
                           error->message);
    warn_restart(proxy, text);
    return G_SOURCE_REMOVE;
}

static void on_line(struct child *child, const char *line, void *opaque)
{
    struct network_proxy *proxy = opaque;

    child_log_line(NETWORK_PROXY_PROGRAM, LOG_SESSION, line,
                   &proxy->last_error);
}

/* Start the process again, with the whole policy. */
static void replace(struct network_proxy *proxy, const char *problem,
                    const char *reason)
{
    g_autofree char *text = g_strdup_printf(
        "the proxy for the guest's connections to names %s (%s); it is started "
        "again, and open connections are lost",
        problem, reason);

    stop(proxy);
    network_asks_stop(proxy->asks);
    restart_later(proxy);
    warn_restart(proxy, text);
}

static void on_exited(struct child *child, void *opaque)
{
    struct network_proxy *proxy = opaque;
    g_autofree char *end = child_describe_exit(child);
    g_autofree char *reason = g_strdup_printf(
        "%s%s%s", end, proxy->last_error ? ": " : "",
        proxy->last_error ? proxy->last_error : "");

    replace(proxy, "has ended", reason);
}

/* A process that has not taken a policy may judge by an older one. stop() has
 * cleared the link before it fails the requests that wait. */
static void on_configured(json_t *payload, const GError *error, json_t *data,
                          void *opaque)
{
    struct network_proxy *proxy = opaque;
    g_autofree char *reason = error ? g_strdup(error->message) : NULL;

    if (reason && proxy->link)
        replace(proxy, "has not taken the network policy", reason);
}

static const struct child_callbacks child_callbacks = {
    .line = on_line,
    .exited = on_exited,
};

static gboolean start(struct network_proxy *proxy, GError **error)
{
    fd_auto int trust = trust_file_open(guest_trust_given(proxy->trust), error);
    g_autofree char *path = install_paths_find_helper(NETWORK_PROXY_PROGRAM);
    int control[2];

    if (trust < 0 || !upstream_proxy_check(proxy->upstream, error) ||
        !unix_socket_pair(SOCK_STREAM, ERROR_VM_LAUNCH_FAILED, control, error))
        return FALSE;
    proxy->process = network_process_spawn(
        &(struct network_process){
            .name = NETWORK_PROXY_PROGRAM,
            .path = path,
            .log_level = proxy->log_level,
            .fds = { { "control-fd", control[1] },
                     { "connections-fd", proxy->channel },
                     { "trust-fd", trust } } },
        &child_callbacks, proxy, error);
    fd_close(&control[1]);
    if (!proxy->process) {
        fd_close(&control[0]);
        return FALSE;
    }
    g_clear_pointer(&proxy->last_error, g_free);
    proxy->began = g_get_monotonic_time();
    proxy->link = control_link_new_bounded(control[0], PEER_LINE_MAX,
                                           &link_callbacks, proxy);
    control_link_name_peer(proxy->link, "the network's proxy");
    proxy->lookup = name_lookup_new();
    return TRUE;
}

gboolean network_proxy_configure(struct network_proxy *proxy,
                                 const struct network_policy *policy,
                                 GError **error)
{
    if (!proxy->process && network_policy_has_names(policy)) {
        g_clear_handle_id(&proxy->restart_timer, g_source_remove);
        if (!start(proxy, error))
            return FALSE;
    }
    if (policy != &proxy->policy)
        proxy->policy = *policy;
    g_free(proxy->used);
    proxy->used = guest_trust_policy(proxy->trust, policy);
    g_hash_table_remove_all(proxy->told);
    network_asks_review(proxy->asks, policy);
    if (!proxy->process)
        return TRUE;
    control_timed_request(
        proxy->link, "configure",
        json_pack("{s:o, s:o, s:o}", "network_policy",
                  network_policy_to_json(proxy->used), "secrets",
                  network_secrets_to_json(guest_trust_secrets(proxy->trust)),
                  "upstreams", upstream_proxy_to_json(proxy->upstream)),
        ANSWER_MS, on_configured, proxy);
    return TRUE;
}

void network_proxy_warn_again(struct network_proxy *proxy)
{
    g_hash_table_remove_all(proxy->told);
}

void network_proxy_get_status(struct network_proxy *proxy,
                              control_link_done done, void *opaque)
{
    control_link_request(proxy->link, "status", NULL, done, opaque);
}

struct listing {
    struct network_proxy *proxy;
    json_t *open; /* owned */
    control_link_done done;
    void *opaque;
};

static void on_listed(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct listing *listing = opaque;
    json_t *answer;

    json_array_extend(listing->open, json_object_get(payload, "connections"));
    answer = network_records_to_json(listing->proxy->records, listing->open);
    listing->done(answer, NULL, NULL, listing->opaque);
    json_decref(answer);
    json_decref(listing->open);
    g_free(listing);
}

void network_proxy_get_connections(struct network_proxy *proxy, json_t *also,
                                   control_link_done done, void *opaque)
{
    struct listing *listing = g_new(struct listing, 1);

    *listing = (struct listing){ proxy, json_array(), done, opaque };
    json_array_extend(listing->open, also);
    if (proxy->link)
        control_link_request(proxy->link, "connections", NULL, on_listed,
                             listing);
    else
        on_listed(NULL, NULL, NULL, listing);
}

struct last {
    struct network_proxy *proxy;
    void (*done)(void *opaque);
    void *opaque;
};

static void on_last(json_t *payload, const GError *error, json_t *data,
                    void *opaque)
{
    g_autofree struct last *last = opaque;

    network_records_add_open(last->proxy->records,
                             json_object_get(payload, "connections"));
    last->done(last->opaque);
}

void network_proxy_record_open(struct network_proxy *proxy,
                               void (*done)(void *opaque), void *opaque)
{
    struct last *last = g_new(struct last, 1);

    *last = (struct last){ proxy, done, opaque };
    if (proxy->link)
        control_timed_request(proxy->link, "end", NULL, NETWORK_LAST_MS,
                              on_last, last);
    else
        on_last(NULL, NULL, NULL, last);
}

const struct network_policy *
network_proxy_policy(const struct network_proxy *proxy)
{
    return &proxy->policy;
}

struct network_proxy *
network_proxy_new(int channel, struct guest_trust *trust,
                  const struct upstream_proxy *upstream, const char *log_level,
                  struct network_records *records, struct network_asks *asks,
                  network_proxy_warning warning, void *opaque)
{
    struct network_proxy *proxy = g_new0(struct network_proxy, 1);

    proxy->channel = channel;
    proxy->log_level = g_strdup(log_level);
    proxy->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    proxy->trust = trust;
    proxy->certificates = network_certificates_new(trust, send_certificate,
                                                   proxy);
    proxy->upstream = upstream;
    proxy->records = records;
    proxy->asks = asks;
    proxy->warning = warning;
    proxy->opaque = opaque;
    return proxy;
}

void network_proxy_free(struct network_proxy *proxy)
{
    if (!proxy)
        return;
    g_clear_handle_id(&proxy->restart_timer, g_source_remove);
    stop(proxy);
    network_certificates_free(proxy->certificates);
    fd_close(&proxy->channel);
    g_hash_table_unref(proxy->told);
    g_free(proxy->last_error);
    g_free(proxy->log_level);
    g_free(proxy->used);
    g_free(proxy);
}
