/* SPDX-License-Identifier: Apache-2.0
 *
 * session_asks - see session_asks.h.
 */
#include "agent/session/session_asks.h"

#include "agent/session/session.h"
#include "agent/session/session_core.h"
#include "common/errors.h"

/* ---- questions ----------------------------------------------------------- */

static void answer(struct session *session, gint64 question,
                   const struct network_answer *answer)
{
    struct network *network = session->machine
                                  ? machine_network(session->machine)
                                  : NULL;

    if (network)
        network_decide(network, question, answer);
}

/* The request is over. Its connections already know if it was withdrawn, or the
 * policy lists them. */
static void on_over(const struct answer *result, const GError *error,
                    void *opaque)
{
    const struct approval *approval = opaque;
    struct network_answer told = { .allow = !error };

    if (approval->outcome == APPROVAL_WITHDRAWN || approval->is_listed)
        return;
    if (approval->outcome == APPROVAL_TIMED_OUT)
        told.reason = error->message;
    answer(approval->session, approval->question, &told);
}

static unsigned count(const struct session *session)
{
    unsigned found = 0;

    for (guint i = 0; i < session->approvals->len; i++) {
        const struct approval *approval = g_ptr_array_index(session->approvals,
                                                            i);

        found += approval->kind == APPROVAL_NETWORK;
    }
    return found;
}

/* Tests do not wait for minutes. */
static unsigned find_timeout(void)
{
    const char *given = g_getenv("STEPBACK_TEST_ASK_SECONDS");
    guint64 seconds;

    return given && g_ascii_string_to_unsigned(given, 10, 1, APPROVAL_TIMEOUT_S,
                                               &seconds, NULL)
               ? (unsigned)seconds
               : APPROVAL_TIMEOUT_S;
}

static void add(struct session *session,
                const struct network_question *question, GError **error)
{
    struct approval *approval;

    if (count(session) == ASKS_MAX) {
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "%d names wait for a decision; connect again when they are "
                    "decided",
                    ASKS_MAX);
        return;
    }
    approval = g_new0(struct approval, 1);
    approval->kind = APPROVAL_NETWORK;
    approval->origin = "guest";
    approval->name = g_strdup(question->name);
    approval->port = question->port;
    approval->question = question->id;
    approval->reason = g_strdup("");
    approval->timeout_s = find_timeout();
    approval->reply = (struct reply){ on_over, approval };
    session_approval_add(session, approval, error);
}

void session_asks_take(const struct network_question *question, void *opaque)
{
    struct session *session = opaque;
    g_autoptr(GError) error = NULL;
    struct network_answer busy = { .is_busy = true };

    add(session, question, &error);
    if (!error)
        return;
    busy.reason = error->message;
    answer(session, question->id, &busy);
}

void session_asks_withdraw(gint64 id, void *opaque)
{
    struct session *session = opaque;

    for (guint i = 0; i < session->approvals->len; i++) {
        struct approval *approval = g_ptr_array_index(session->approvals, i);

        if (approval->kind != APPROVAL_NETWORK || approval->question != id)
            continue;
        /* A policy that is being set withdraws it, too. */
        if (approval->is_decided)
            approval->is_withdrawn = true;
        else
            session_approval_end(approval, APPROVAL_WITHDRAWN, NULL);
        return;
    }
}

/* ---- decisions ----------------------------------------------------------- */

/* An entry that is being added. */
struct listing {
    struct session *session;
    char *id;
    struct reply reply;
};

static void on_listed(const struct answer *result, const GError *error,
                      void *opaque)
{
    struct listing *listing = opaque;
    struct approval *approval = session_approval_find(listing->session,
                                                      listing->id);
    g_autoptr(GError) ended = NULL;

    if (approval && !error) {
        approval->is_listed = true;
        session_approval_end(approval, APPROVAL_ALLOWED, &listing->reply);
    } else {
        if (!error)
            ended = g_error_new_literal(STEPBACK_ERROR, ERROR_CANCELLED,
                                        "the session has ended");
        if (approval) {
            approval->is_decided = false;
            session_approval_hold(approval, false);
        }
        if (approval && approval->is_withdrawn)
            session_approval_end(approval, APPROVAL_WITHDRAWN, NULL);
        reply_send(&listing->reply, NULL, error ? error : ended);
    }
    g_free(listing->id);
    g_free(listing);
}

static gboolean list(struct approval *approval, reply_done done, void *opaque,
                     GError **error)
{
    struct session *session = approval->session;
    g_autofree struct network_policy *policy = g_new(struct network_policy, 1);
    g_autofree char *entry = g_strdup_printf("%s:%u", approval->name,
                                             approval->port);
    struct listing *listing;

    if (session->policies > 0) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_BUSY,
                            "the network policy is being changed; decide "
                            "again");
        return FALSE;
    }
    *policy = session->config->network;
    if (!network_policy_add(policy, entry, error))
        return FALSE;
    listing = g_new(struct listing, 1);
    *listing = (struct listing){ session,
                                 g_strdup(approval->id),
                                 { done, opaque } };
    approval->is_decided = true;
    session_approval_hold(approval, true);
    session_configure_network(session, policy, NULL, on_listed, listing);
    return TRUE;
}

void session_asks_decide(struct approval *approval,
                         const struct approval_decision *decision,
                         reply_done done, void *opaque)
{
    GError *error = NULL;

    if (decision->path || decision->access)
        error = g_error_new_literal(
            STEPBACK_ERROR, ERROR_INVALID_FIELD,
            "the request is for a connection; the fields 'path' and 'access' "
            "are for folders");
    else if (!decision->allow || !decision->is_kept)
        session_approval_end(
            approval, decision->allow ? APPROVAL_ALLOWED : APPROVAL_DENIED,
            &(struct reply){ done, opaque });
    else
        list(approval, done, opaque, &error);
    if (error)
        reply_post_error(done, opaque, error);
}
