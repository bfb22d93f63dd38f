/* SPDX-License-Identifier: Apache-2.0
 *
 * session_guest_grants - see session_guest_grants.h.
 */
#include "agent/session/session_guest_grants.h"

#include "agent/session/session_execution.h"
#include "agent/session/session_grants.h"

/* A guest that asks and withdraws in a loop must not flood the listeners. */
enum { ASKED_MAX = 30, ASKED_S = 60 };

/* Also the asker of the request (session_grant_withdraw()). */
struct asker {
    struct session *session;
    gint64 exec_id, number;
};

/* The approval has the asker, as long as it is pending. */
static struct asker *find(const struct session *session, gint64 exec_id,
                          gint64 number)
{
    const GPtrArray *approvals = session_approvals(session);

    for (guint i = 0; i < approvals->len; i++) {
        const struct approval *approval = g_ptr_array_index(approvals, i);
        struct asker *asker = approval->reply.opaque;

        if (approval->exec_id != 0 && approval->reply.done &&
            asker->exec_id == exec_id && asker->number == number)
            return asker;
    }
    return NULL;
}

static void answer(struct session *session, gint64 number, const char *text,
                   const char *error)
{
    g_autofree char *valid = error ? g_utf8_make_valid(error, -1) : NULL;

    if (session->machine)
        guest_channel_answer_step(machine_guest(session->machine), number, 0,
                                  text, valid);
}

/* Say nothing of the host but what was granted: an error of the request itself
 * may name folders of the host. */
static const char *explain(const GError *error)
{
    switch (error_code_of(error)) {
    case ERROR_DENIED:
    case ERROR_TIMEOUT:
    case ERROR_BUSY:
    case ERROR_INVALID_FIELD:
    case ERROR_TOO_LARGE:
        return error->message;
    default:
        return "the request cannot be decided now";
    }
}

static void on_over(const struct answer *result, const GError *error,
                    void *opaque)
{
    g_autofree struct asker *asker = opaque;
    g_autofree char *text = NULL;

    if (!error) {
        const struct session_directory *directory = result->approval->directory;

        text = g_strdup_printf("%s\t%s\n", directory->guest_path,
                               directory->read_only ? "read-only"
                                                    : "read-write");
        if (!g_utf8_validate(text, -1, NULL)) {
            g_free(text);
            text = g_strdup("granted\n");
        }
    }
    answer(asker->session, asker->number, text, error ? explain(error) : NULL);
}

static bool asks_too_often(struct session *session)
{
    gint64 now = g_get_monotonic_time();

    if (now - session->guest_asked_since > ASKED_S * G_TIME_SPAN_SECOND) {
        session->guest_asked_since = now;
        session->guest_asked = 0;
    }
    return ++session->guest_asked > ASKED_MAX;
}

void session_guest_grants_take(struct session *session,
                               const struct guest_step_request *from)
{
    const struct execution *execution = execution_find(session, from->exec_id);
    const struct grant_request request = {
        .path = from->text,
        .read_only = !from->wants_write,
        .reason = from->reason,
        .origin = "guest",
        .exec_id = from->exec_id,
    };
    struct asker *asker;

    if (!execution || !execution->exec || !exec_is_running(execution->exec)) {
        answer(session, from->request, NULL, "the command has ended");
        return;
    }
    if (asks_too_often(session)) {
        answer(session, from->request, NULL,
               "too many requests in a minute; ask again later");
        return;
    }
    asker = g_new(struct asker, 1);
    *asker = (struct asker){ session, from->exec_id, from->request };
    session_grant_request(session, &request, on_over, asker);
}

bool session_guest_grants_withdraw(struct session *session, gint64 exec_id,
                                   gint64 number)
{
    struct asker *asker = find(session, exec_id, number);

    if (!asker)
        return false;
    session_grant_withdraw(session, asker);
    answer(session, number, NULL, "withdrawn");
    g_free(asker);
    return true;
}

void session_guest_grants_end(struct session *session, gint64 exec_id)
{
    session_grant_withdraw_execution(session, exec_id);
}
