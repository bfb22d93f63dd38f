/* SPDX-License-Identifier: Apache-2.0
 *
 * session_restore - see session.h: undo by path, in one folder.
 */
#include "agent/client/engine_request.h"
#include "agent/client/report_json.h"
#include "agent/client/step_merge.h"
#include "agent/session/session.h"
#include "agent/session/session_core.h"
#include "agent/session/session_folder.h"
#include "common/errors.h"

struct restoring {
    struct session *session;
    unsigned index; /* of the folder */
    bool dry;
    struct reply reply;
};

static void report_step(const struct restoring *r, struct step_report *report)
{
    struct session *session = r->session;

    session->counters.steps++;
    session_tell_step(session, report, NULL);
}

/* Build the answer, or an error's data, in the form of undo.rollback. NULL for
 * NULL. */
static struct undo_result *merge(const struct restoring *r, json_t *payload)
{
    const char *label = r->session->config->directories[r->index]->label;
    struct undo_result *result = payload ? result_from_json(payload, label)
                                         : NULL;

    if (result && result->steps && result->steps->len > 0) {
        g_autoptr(GPtrArray) parts = result->steps;

        result->steps = step_report_list_new();
        g_ptr_array_add(result->steps, step_merge_reports(parts));
    }
    return result;
}

static void on_restored(json_t *payload, const GError *error, json_t *data,
                        void *opaque)
{
    struct restoring *r = opaque;
    struct session *session = r->session;
    const struct answer answer = { .result = merge(r, error ? data : payload) };
    struct step_report *report = error || r->dry ? NULL
                                                 : step_report_list_last(
                                                       answer.result->steps);

    session->writes--;
    if (report)
        report_step(r, report);
    reply_send(&r->reply, &answer, error);
    undo_result_free(answer.result);
    g_free(r);
    session_command_over(session);
}

static gboolean check_folder(struct session *session, unsigned index, bool dry,
                             GError **error)
{
    if (dry || !session->config->directories[index]->read_only)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_READ_ONLY_DIRECTORY,
                "the working folder %s is read-only",
                session->config->directories[index]->label);
    return FALSE;
}

void session_restore(struct session *session, struct folder_ref directory,
                     const struct undo_extent *extent, const GPtrArray *paths,
                     bool dry, reply_done done, void *opaque)
{
    struct engine_restore request;
    struct restoring *r;
    GError *error = NULL;
    unsigned index;

    if (!session_check_idle(session, &error) ||
        !session_find_folder(session, directory, &index, &error) ||
        !check_folder(session, index, dry, &error)) {
        reply_post_error(done, opaque, error);
        return;
    }
    request = (struct engine_restore){
        .paths = paths,
        .down_to = extent->step_id,
        .steps = extent->steps,
        .force = extent->force,
        .step_id = dry ? 0 : ++session->last_step_id,
    };
    r = g_new0(struct restoring, 1);
    *r = (struct restoring){ session, index, dry, { done, opaque } };
    session->writes++;
    control_link_request(session_folder_link(session, index), "restore",
                         engine_request_restore(&request), on_restored, r);
}
