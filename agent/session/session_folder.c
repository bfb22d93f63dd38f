/* SPDX-License-Identifier: Apache-2.0
 *
 * session_folder - see session.h: requests about one working folder.
 */
#include "agent/session/session_folder.h"

#include <string.h>

#include "agent/client/engine_request.h"
#include "agent/client/report_json.h"
#include "agent/client/step_merge.h"
#include "agent/session/name_check.h"
#include "agent/session/session.h"
#include "agent/session/session_core.h"
#include "agent/session/session_guard.h"
#include "common/errors.h"

struct control_link *session_folder_link(struct session *session,
                                         unsigned index)
{
    return session->machine
               ? backends_link(machine_backends(session->machine), index)
               : NULL;
}

gboolean session_find_folder(struct session *session,
                             struct folder_ref directory, unsigned *ret_index,
                             GError **error)
{
    if (session->sharing) {
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY, "%s; retry later",
                    session->occupied);
        return FALSE;
    }
    return session_check_running(session, error) &&
           session_directory_find(session->config->directories,
                                  session->config->n_directories, directory,
                                  ret_index, error);
}

/* ---- status -------------------------------------------------------------- */

static void check_names(struct session *session, unsigned index,
                        const struct step_report *report)
{
    const char *label = session->config->directories[index]->label;
    g_autoptr(GPtrArray)
        found = name_check(session->folders[index].fd, report, label);

    for (guint i = 0; i < found->len; i++)
        session_warn(session, index, g_ptr_array_index(found, i));
}

void session_tell_step(struct session *session, struct step_report *report,
                       const struct command *command)
{
    const struct session_event event = {
        .type = SESSION_EVENT_STEP_COMPLETED,
        .command = command,
        .report = report,
    };

    session_send(session, &event);
    session->guest_hooks->record(session, report);
    for (unsigned i = 0; session->state == SESSION_RUNNING &&
                         i < session->config->n_directories;
         i++)
        check_names(session, i, report);
}

/* ---- requests ------------------------------------------------------------ */

struct folder_request {
    struct session *session;
    struct reply reply;
    unsigned index;
};

static struct folder_request *request_new(struct session *session,
                                          unsigned index, reply_done done,
                                          void *opaque)
{
    struct folder_request *request = g_new0(struct folder_request, 1);

    request->session = session;
    request->index = index;
    request->reply = (struct reply){ done, opaque };
    session->lookups++;
    return request;
}

static void request_free(struct folder_request *request)
{
    request->session->lookups--;
    g_free(request);
}

int session_folder_fd(struct session *session, struct folder_ref directory,
                      GError **error)
{
    unsigned index;

    return session_find_folder(session, directory, &index, error)
               ? session->folders[index].fd
               : -1;
}

static void on_status(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct folder_request *request = opaque;
    struct session *session = request->session;
    const char *id = engine_status_from_json(payload).safeguard_id;
    g_autofree char *ours = id ? session_guard_make_id(session, request->index,
                                                       id)
                               : NULL;
    struct folder_status status = { .relayed = payload, .safeguard_id = ours };
    const struct answer answer = { .status = &status };

    if (!error) {
        status.directory = session->config->directories[request->index]->label;
        status.warnings = session->folders[request->index].warnings;
    }
    reply_send(&request->reply, error ? NULL : &answer, error);
    request_free(request);
}

void session_folder_status(struct session *session, struct folder_ref directory,
                           reply_done done, void *opaque)
{
    GError *error = NULL;
    unsigned index;

    if (!session_find_folder(session, directory, &index, &error)) {
        reply_post_error(done, opaque, error);
        return;
    }
    control_link_request(session_folder_link(session, index), "status", NULL,
                         on_status, request_new(session, index, done, opaque));
}

/* ---- writing a file ------------------------------------------------------ */

static struct step_report *merged_report(const struct folder_request *request,
                                         json_t *payload)
{
    const struct session_config *config = request->session->config;
    g_autoptr(GPtrArray) list = step_report_list_new();

    g_ptr_array_add(
        list,
        report_from_json(payload, config->directories[request->index]->label));
    return step_merge_reports(list);
}

static void on_written(json_t *payload, const GError *error, json_t *data,
                       void *opaque)
{
    struct folder_request *request = opaque;
    struct session *session = request->session;
    const struct answer answer = {
        .report = payload ? merged_report(request, payload) : NULL
    };

    session->writes--;
    if (answer.report)
        session_tell_step(session, answer.report, NULL);
    reply_send(&request->reply, &answer, error);
    if (answer.report)
        step_report_unref(answer.report);
    request_free(request);
    session_command_over(session);
}

static gboolean check_file(struct session *session, struct folder_ref directory,
                           const struct file_write *write, unsigned *ret_index,
                           GError **error)
{
    if (!session_check_idle(session, error) ||
        !session_find_folder(session, directory, ret_index, error))
        return FALSE;
    if (session->config->directories[*ret_index]->read_only) {
        g_set_error(error, STEPBACK_ERROR, ERROR_READ_ONLY_DIRECTORY,
                    "the working folder %s is read-only",
                    session->config->directories[*ret_index]->label);
        return FALSE;
    }
    if (g_bytes_get_size(write->content) > SESSION_WRITE_MAX) {
        g_set_error(error, STEPBACK_ERROR, ERROR_TOO_LARGE,
                    "one request writes at most %d bytes", SESSION_WRITE_MAX);
        return FALSE;
    }
    return TRUE;
}

void session_write_file(struct session *session, struct folder_ref directory,
                        struct file_write *write, reply_done done, void *opaque)
{
    GError *error = NULL;
    unsigned index;

    if (!check_file(session, directory, write, &index, &error)) {
        reply_post_error(done, opaque, error);
    } else {
        session->writes++;
        session->counters.steps++;
        control_link_request(
            session_folder_link(session, index), "write_file",
            engine_request_write(write, ++session->last_step_id), on_written,
            request_new(session, index, done, opaque));
    }
    file_write_free(write);
}
