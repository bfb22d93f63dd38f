/* SPDX-License-Identifier: Apache-2.0
 *
 * session_undo - see session.h: what is asked of the daemon between commands.
 */
#include "agent/session_parts.h"

#include <string.h>

#include "common/errors.h"
#include "common/json_bytes.h"

struct undo_request {
    struct session *session;
    struct reply reply;
    bool moves; /* it makes the folder what it was, or was to be */
};

/* ---- the folder ---------------------------------------------------------- */

static gboolean find_folder(struct session *session, json_t *directory,
                            unsigned *ret_index, GError **error)
{
    return session_check_running(session, error) &&
           session_config_find(session->config, directory, ret_index, error);
}

int session_folder_fd(struct session *session, json_t *directory,
                      GError **error)
{
    unsigned index;

    return find_folder(session, directory, &index, error) ? session->folder_fd
                                                          : -1;
}

/* ---- asking -------------------------------------------------------------- */

/* The guest's kernel may remember names and sizes that are no more. */
static void notify_guest(struct session *session, json_t *payload)
{
    json_t *steps = json_object_get(payload, "steps");
    json_t *oldest = json_array_get(steps, json_array_size(steps) - 1);

    if (session->state == SESSION_RUNNING && oldest)
        guest_channel_rollback_notify(
            machine_guest(session->machine),
            json_integer_value(json_object_get(oldest, "step_id")));
}

static void on_answered(json_t *payload, const GError *error, json_t *data,
                        void *opaque)
{
    struct undo_request *request = opaque;

    /* An error may have stopped it after some steps. */
    if (request->moves && (payload || data))
        notify_guest(request->session, payload ? payload : data);
    reply_send(&request->reply, payload, error, data);
    g_free(request);
}

/* payload is taken. */
static void ask(struct session *session, const char *type, json_t *directory,
                json_t *payload, reply_done done, void *opaque)
{
    struct undo_request *request;
    GError *error = NULL;
    unsigned index;

    if (!session_check_idle(session, &error) ||
        !find_folder(session, directory, &index, &error)) {
        json_decref(payload);
        reply_post_error(done, opaque, error);
        return;
    }
    request = g_new0(struct undo_request, 1);
    request->session = session;
    request->reply = (struct reply){ done, opaque };
    request->moves = strcmp(type, "rollback") == 0 || strcmp(type, "redo") == 0;
    control_link_request(machine_link(session->machine), type, payload,
                         on_answered, request);
}

static json_t *steps_payload(unsigned steps, bool force)
{
    return json_pack("{s:I, s:b}", "steps", (json_int_t)steps, "force", force);
}

void session_rollback(struct session *session, json_t *directory,
                      unsigned steps, bool force, reply_done done, void *opaque)
{
    ask(session, "rollback", directory, steps_payload(steps, force), done,
        opaque);
}

void session_redo(struct session *session, json_t *directory, unsigned steps,
                  bool force, reply_done done, void *opaque)
{
    ask(session, "redo", directory, steps_payload(steps, force), done, opaque);
}

void session_preview(struct session *session, json_t *directory, unsigned steps,
                     bool force, reply_done done, void *opaque)
{
    ask(session, "preview", directory, steps_payload(steps, force), done,
        opaque);
}

void session_history(struct session *session, json_t *directory, unsigned limit,
                     reply_done done, void *opaque)
{
    ask(session, "history", directory,
        json_pack("{s:I}", "limit", (json_int_t)limit), done, opaque);
}

void session_configure(struct session *session, json_t *directory,
                       json_t *limits, reply_done done, void *opaque)
{
    ask(session, "configure", directory, limits, done, opaque);
}

void session_discard(struct session *session, json_t *directory,
                     reply_done done, void *opaque)
{
    ask(session, "discard", directory, NULL, done, opaque);
}

static void on_status(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct undo_request *request = opaque;
    json_t *answer = payload ? json_copy(payload) : NULL;

    if (answer)
        json_object_set_new(answer, "warnings",
                            json_copy(request->session->warnings));
    reply_send(&request->reply, answer, error, data);
    json_decref(answer);
    g_free(request);
}

void session_folder_status(struct session *session, json_t *directory,
                           reply_done done, void *opaque)
{
    struct undo_request *request;
    GError *error = NULL;
    unsigned index;

    if (!find_folder(session, directory, &index, &error)) {
        reply_post_error(done, opaque, error);
        return;
    }
    request = g_new0(struct undo_request, 1);
    request->session = session;
    request->reply = (struct reply){ done, opaque };
    control_link_request(machine_link(session->machine), "status", NULL,
                         on_status, request);
}

/* ---- writing a file ------------------------------------------------------ */

static void on_written(json_t *report, const GError *error, json_t *data,
                       void *opaque)
{
    struct undo_request *request = opaque;
    struct session *session = request->session;

    session->writing = false;
    if (report)
        session_send_event(session, "event.step_completed",
                           json_deep_copy(report), false);
    reply_send(&request->reply, report, error, data);
    g_free(request);
    session_command_over(session);
}

static gboolean check_file(struct session *session, json_t *directory,
                           json_t *file, unsigned *ret_index, GError **error)
{
    const char *content = json_string_value(json_object_get(file, "content"));
    bool base64 = json_object_get(file, "encoding") != NULL;
    size_t len = content ? strlen(content) : 0;

    if (!session_check_idle(session, error) ||
        !find_folder(session, directory, ret_index, error))
        return FALSE;
    if (session->config->read_only) {
        g_set_error(error, STEPBACK_ERROR, ERROR_READ_ONLY_DIRECTORY,
                    "the working folder %s is read-only",
                    session->config->label);
        return FALSE;
    }
    if ((base64 ? len / 4 * 3 : len) > SESSION_WRITE_MAX) {
        g_set_error(error, STEPBACK_ERROR, ERROR_TOO_LARGE,
                    "one request writes at most %d bytes", SESSION_WRITE_MAX);
        return FALSE;
    }
    return TRUE;
}

void session_write_file(struct session *session, json_t *directory,
                        json_t *file, reply_done done, void *opaque)
{
    struct undo_request *request;
    GError *error = NULL;
    unsigned index;

    if (!check_file(session, directory, file, &index, &error)) {
        json_decref(file);
        reply_post_error(done, opaque, error);
        return;
    }
    request = g_new0(struct undo_request, 1);
    request->session = session;
    request->reply = (struct reply){ done, opaque };
    session->writing = true;
    json_object_set_new(file, "step_id", json_integer(++session->last_step_id));
    control_link_request(machine_link(session->machine), "write_file", file,
                         on_written, request);
}

/* ---- safeguards ---------------------------------------------------------- */

static void ask_guard(struct session *session, const char *type,
                      json_t *payload, reply_done done, void *opaque)
{
    struct undo_request *request;
    GError *error = NULL;

    if (!session_check_running(session, &error)) {
        json_decref(payload);
        reply_post_error(done, opaque, error);
        return;
    }
    request = g_new0(struct undo_request, 1);
    request->session = session;
    request->reply = (struct reply){ done, opaque };
    control_link_request(machine_link(session->machine), type, payload,
                         on_answered, request);
}

void session_guard_configure(struct session *session, json_t *rules,
                             reply_done done, void *opaque)
{
    ask_guard(session, "safeguard.configure", rules, done, opaque);
}

void session_guard_confirm(struct session *session, const char *id, bool allow,
                           reply_done done, void *opaque)
{
    ask_guard(session, "safeguard.confirm",
              json_pack("{s:s, s:s}", "safeguard_id", id, "action",
                        allow ? "allow" : "deny"),
              done, opaque);
}
