/* SPDX-License-Identifier: Apache-2.0
 *
 * session_folder - see session.h: requests about one working folder.
 */
#include "agent/session/session_folder.h"

#include <string.h>

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
    return session_check_running(session, error) &&
           session_directory_find(session->config->directories,
                                  session->config->n_directories, directory,
                                  ret_index, error);
}

/* ---- status -------------------------------------------------------------- */

static void send_warning(struct session *session, unsigned index,
                         json_t *warning)
{
    session_keep_warning(session, index, warning);
    session_send_event(session, "event.warning", json_incref(warning), false);
}

static void check_names(struct session *session, unsigned index,
                        const struct step_report *report)
{
    const char *label = session->config->directories[index]->label;
    json_t *found = name_check(session->folders[index].fd, report->changes,
                               label);
    json_t *warning;
    size_t i;

    json_array_foreach(found, i, warning)
    {
        json_object_set_new(warning, "directory", json_string(label));
        json_object_set_new(warning, "step_id", json_integer(report->step_id));
        send_warning(session, index, warning);
    }
    json_decref(found);
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
    return request;
}

int session_folder_fd(struct session *session, struct folder_ref directory,
                      GError **error)
{
    unsigned index;

    return session_find_folder(session, directory, &index, error)
               ? session->folders[index].fd
               : -1;
}

/* Rename a pending decision to the id that its event used. */
static void rename_pending(const struct folder_request *request, json_t *answer)
{
    json_t *pending = json_object_get(answer, "pending_safeguard");
    const char *id = json_string_value(
        json_object_get(pending, "safeguard_id"));
    g_autofree char *ours = NULL;
    json_t *copy;

    if (!id)
        return;
    ours = session_guard_make_id(request->session, request->index, id);
    copy = json_copy(pending);
    json_object_set_new(copy, "safeguard_id", json_string(ours));
    json_object_set_new(answer, "pending_safeguard", copy);
}

/* Drop a path that is not UTF-8: such a path cannot name a folder of the
 * session. */
static void drop_bytes(json_t *answer, const char *key)
{
    if (!json_is_string(json_object_get(answer, key)))
        json_object_set_new(answer, key, json_null());
}

static void on_status(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct folder_request *request = opaque;
    struct session *session = request->session;
    struct answer answer = { .relayed = payload ? json_copy(payload) : NULL };

    if (answer.relayed) {
        json_t *warnings = session->folders[request->index].warnings;
        const char *label = session->config->directories[request->index]->label;

        rename_pending(request, answer.relayed);
        json_object_del(answer.relayed, "share_dev");
        json_object_del(answer.relayed, "share_ino");
        json_object_del(answer.relayed, "mount_dev");
        drop_bytes(answer.relayed, "share");
        drop_bytes(answer.relayed, "undo_dir");
        json_object_set_new(answer.relayed, "directory", json_string(label));
        json_object_set_new(answer.relayed, "warnings",
                            warnings ? json_copy(warnings) : json_array());
    }
    reply_send(&request->reply, &answer, error);
    json_decref(answer.relayed);
    g_free(request);
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
    g_free(request);
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
        control_link_request(session_folder_link(session, index), "write_file",
                             write_to_json(write, ++session->last_step_id),
                             on_written,
                             request_new(session, index, done, opaque));
    }
    file_write_free(write);
}
