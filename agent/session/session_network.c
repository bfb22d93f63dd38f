/* SPDX-License-Identifier: Apache-2.0
 *
 * session_network - see session.h: the guest's network policy and traffic.
 */
#include "agent/session/session_core.h"

#include "agent/session/session.h"
#include "agent/machine/share_check.h"
#include "common/errors.h"

struct change {
    struct session *session;
    struct network_policy policy;
    reply_done done;
    void *opaque;
};

/* The link's error text talks about a file system daemon; replace it. */
static GError *explain(const GError *error)
{
    if (error_code_of(error) != ERROR_BACKEND_FAILED)
        return g_error_copy(error);
    return g_error_new_literal(
        STEPBACK_ERROR, ERROR_BACKEND_FAILED,
        "the guest's network process has ended; to have a new one, start the "
        "sandbox again: 'stepback stop' and 'stepback up', or session.reset");
}

/* Secrets that lose a host by the policy. */
static void warn_of_secrets(struct session *session,
                            const struct network_policy *policy)
{
    g_auto(GStrv) texts = secret_list_losses(session->config->secrets,
                                             &session->config->network, policy);

    for (char **text = texts; *text; text++)
        session_warn_text(session, "secret_host_refused", *text);
}

/* The policy becomes part of the session's configuration: a reset keeps it. */
static void on_configured(json_t *answer, const GError *error, json_t *data,
                          void *opaque)
{
    struct change *change = opaque;
    g_autoptr(GError) told = error ? explain(error) : NULL;

    change->session->policies--;
    if (!error && change->session->config) {
        warn_of_secrets(change->session, &change->policy);
        change->session->config->network = change->policy;
        session_tell_policy(change->session);
        if (change->session->machine)
            machine_update_trust(change->session->machine);
    }
    change->done(NULL, told, change->opaque);
    g_free(change);
}

static bool is_in_force(const struct session *session,
                        const struct network_policy *policy)
{
    return session->policies == 0 &&
           network_policy_equal(&session->config->network, policy);
}

/* Check that requests to the hosts of secrets can be intercepted. A policy may
 * leave out a host. */
static gboolean check_secrets(const struct session_config *config,
                              const struct network_policy *policy,
                              GError **error)
{
    g_autofree struct network_policy *copy = g_new(struct network_policy, 1);

    *copy = *policy;
    return secret_list_intercept(config->secrets, copy, error);
}

void session_configure_network(struct session *session,
                               const struct network_policy *policy,
                               const struct network_policy *expected,
                               reply_done done, void *opaque)
{
    GError *error = NULL;
    struct network *network;
    struct change *change;

    if (!session_check_running(session, &error)) {
        reply_post_error(done, opaque, error);
        return;
    }
    network = machine_network(session->machine);
    if (!network) {
        reply_post_refusal(
            done, opaque, ERROR_INVALID_FIELD,
            "this session was started without a network card; to start with a "
            "card and everything blocked, use {\"allow\":[]}");
        return;
    }
    if (!share_check_secrets(session->config, policy, &error)) {
        reply_post_error(done, opaque, error);
        return;
    }
    if (!check_secrets(session->config, policy, &error)) {
        reply_post_error(done, opaque, error);
        return;
    }
    if (expected && !is_in_force(session, expected)) {
        reply_post_refusal(done, opaque, ERROR_BUSY,
                           "the network policy is no longer the expected one; "
                           "ask for it by network.status, and try again");
        return;
    }
    session->policies++;
    change = g_new(struct change, 1);
    *change = (struct change){ session, *policy, done, opaque };
    network_configure(network, policy, on_configured, change);
}

static void on_will_warn(json_t *payload, const GError *error, json_t *data,
                         void *opaque)
{
    struct reply *reply = opaque;

    reply_send(reply, NULL, error);
    g_free(reply);
}

bool session_warn_again(struct session *session, reply_done done, void *opaque)
{
    struct reply *reply;
    struct network *network = session->network_unheard && session->machine
                                  ? machine_network(session->machine)
                                  : NULL;

    if (!network || session->state != SESSION_RUNNING)
        return false;
    session->network_unheard = false;
    reply = g_new(struct reply, 1);
    *reply = (struct reply){ done, opaque };
    network_warn_again(network, on_will_warn, reply);
    return true;
}

/* ---- traffic ------------------------------------------------------------- */

static void on_counted(json_t *payload, const GError *error, json_t *data,
                       void *opaque)
{
    struct reply *reply = opaque;
    const struct answer answer = { .relayed = payload };
    g_autoptr(GError) told = error ? explain(error) : NULL;

    reply_send(reply, &answer, told);
    g_free(reply);
}

typedef void get_figures(struct network *network, control_link_done done,
                         void *opaque);

static void request(struct session *session, get_figures *figures,
                    reply_done done, void *opaque)
{
    GError *error = NULL;
    struct network *network;
    struct reply *reply;

    if (!session_check_running(session, &error)) {
        reply_post_error(done, opaque, error);
        return;
    }
    network = machine_network(session->machine);
    if (!network) {
        reply_post_refusal(done, opaque, ERROR_NO_NETWORK,
                           "the guest has no network card");
        return;
    }
    reply = g_new(struct reply, 1);
    *reply = (struct reply){ done, opaque };
    figures(network, on_counted, reply);
}

void session_network_status(struct session *session, reply_done done,
                            void *opaque)
{
    request(session, network_get_status, done, opaque);
}

void session_network_connections(struct session *session, reply_done done,
                                 void *opaque)
{
    request(session, network_get_connections, done, opaque);
}
