/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_client - see undo_client.h.
 */
#include "agent/client/undo_client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "agent/base/log_place.h"
#include "agent/client/control_link.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/json_bytes.h"
#include "common/unix_socket.h"
#include "interceptor/interceptor.h"

enum { MAX_LOCK_FILE = 64 << 10 };

struct undo_client {
    struct ic *ic; /* NULL: a daemon owns the log */
    struct control_link *link;
    undo_client_event event; /* or NULL */
    json_t *recovery;        /* the payload of "event.recovery", or NULL */
    json_t *unfinished;      /* of the warning "step_unfinished", or NULL */
    json_t *redone;          /* of the warning "redo_finished", or NULL */
    GMainLoop *loop;         /* runs while a request waits for its answer */
    json_t *payload;         /* the answer */
    json_t *data;            /* of the error */
    GError *error;
};

static void replace_payload(json_t **kept, json_t *payload)
{
    json_decref(*kept);
    *kept = json_incref(payload);
}

static void on_event(struct control_link *link, const char *type,
                     json_t *payload, void *opaque)
{
    struct undo_client *client = opaque;
    const char *code = json_string_value(json_object_get(payload, "code"));

    if (strcmp(type, "event.recovery") == 0)
        replace_payload(&client->recovery, payload);
    else if (strcmp(type, "event.warning") != 0)
        code = NULL;
    if (g_strcmp0(code, "step_unfinished") == 0)
        replace_payload(&client->unfinished, payload);
    else if (g_strcmp0(code, "redo_finished") == 0)
        replace_payload(&client->redone, payload);
    if (client->event)
        client->event(type, payload);
}

static const struct control_link_callbacks callbacks = { .event = on_event };

/* Return the path of the owner's control socket as a new string, or NULL and
 * error. */
static char *find_owner(const char *undo_dir, GError **error)
{
    g_autofree char *path = g_build_filename(undo_dir, "lock", NULL);
    g_autofree char *text = NULL;
    char *socket = NULL;
    json_t *note = NULL;
    size_t len;

    if (fd_read_file(AT_FDCWD, path, MAX_LOCK_FILE, &text, &len) == 0)
        note = json_loadb(text, len, 0, NULL);
    socket = g_strdup(json_string_value(json_object_get(note, "socket")));
    if (!socket)
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "the undo log %s is in use by process %d, which has no "
                    "control socket; wait until it ends (a file server offers "
                    "a socket with --interceptor-socket)",
                    undo_dir,
                    (int)json_integer_value(json_object_get(note, "pid")));
    json_decref(note);
    return socket;
}

/* Return whether this member of the status has this value. */
static bool is_integer(json_t *status, const char *key, uintmax_t value)
{
    json_t *member = json_object_get(status, key);

    return member && json_integer_value(member) == (json_int_t)value;
}

/* Match the folder by its path, or by where the owner has mounted it. */
static bool is_share(const char *path, json_t *status)
{
    struct stat st;

    return stat(path, &st) == 0 && is_integer(status, "share_ino", st.st_ino) &&
           (is_integer(status, "share_dev", st.st_dev) ||
            is_integer(status, "mount_dev", st.st_dev));
}

/* The owner of a log knows which folder the log belongs to, regardless of the
 * path the user gave. In another mount namespace the owner's path may name
 * another folder here. */
static gboolean check_owner(struct undo_client *client, const char *dir,
                            const char *undo_dir, GError **error)
{
    json_t *status = undo_client_ask(client, "status", NULL, NULL, error);
    g_autofree char *share = json_bytes_get_path(
        json_object_get(status, "share"));
    bool other = json_object_get(status, "share_ino") && !is_share(dir, status);

    if (other)
        g_set_error(
            error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
            "the undo log %s belongs to another folder than %s: process %d, "
            "which uses it, serves %s; name that folder with -C",
            undo_dir, dir,
            (int)json_integer_value(json_object_get(status, "pid")),
            share && is_share(share, status) ? share : "another");
    json_decref(status);
    return status && !other;
}

static gboolean connect_owner(struct undo_client *client, const char *dir,
                              const char *undo_dir, GError **error)
{
    g_autofree char *socket = find_owner(undo_dir, error);

    if (!socket)
        return FALSE;
    client->link = control_link_connect(socket, &callbacks, client, error);
    return client->link && check_owner(client, dir, undo_dir, error);
}

static gboolean connect_engine(struct undo_client *client, GError **error)
{
    int pair[2];

    if (!unix_socket_pair(SOCK_STREAM, ERROR_IO_ERROR, pair, error))
        return FALSE;
    client->link = control_link_new(pair[0], &callbacks, client);
    return ic_control_attach(client->ic, pair[1], error);
}

static gboolean check_log(const char *dir, const char *undo_dir, GError **error)
{
    struct stat st;
    int why = stat(undo_dir, &st) == 0 ? 0 : errno;

    if (why == 0 && S_ISDIR(st.st_mode))
        return TRUE;
    if (why == 0) {
        g_set_error(
            error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
            "%s: not an undo log directory; give --undo-dir the directory that "
            "the file server uses (the control socket is found through it)",
            undo_dir);
        return FALSE;
    }
    if (why != 0 && why != ENOENT && why != ENOTDIR) {
        g_set_error(
            error, STEPBACK_ERROR, ERROR_IO_ERROR,
            "cannot open the undo log %s of %s: %s%s", undo_dir, dir,
            g_strerror(why),
            why == EACCES
                ? "; if another user (such as root) owns it, undo as that user"
                : "");
        return FALSE;
    }
    g_set_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                "no undo log for %s (%s does not exist): 'stepback run' has "
                "not run here yet, or the folder was renamed; name the folder "
                "with -C, the log with --undo-dir",
                dir, undo_dir);
    return FALSE;
}

static gboolean open_log(struct undo_client *client, const char *dir,
                         const char *undo_dir, enum undo_client_purpose purpose,
                         GError **error)
{
    struct ic_options options = {
        .share = dir,
        .undo_dir = undo_dir,
        .no_timer = true,
        .no_watch = true,
        .no_recovery = purpose == UNDO_CLIENT_LOOK ||
                       purpose == UNDO_CLIENT_DISCARD,
    };
    g_autoptr(GError) cause = NULL;

    if (!check_log(dir, undo_dir, error))
        return FALSE;
    client->ic = ic_open_share(&options, &cause);
    if (!client->ic && purpose == UNDO_CLIENT_INSIST &&
        error_code_of(cause) == ERROR_INVALID_DIRECTORY) {
        options.keep_unfinished = true;
        g_clear_error(&cause);
        client->ic = ic_open_share(&options, &cause);
    }
    if (client->ic)
        return connect_engine(client, error);
    if (error_code_of(cause) == ERROR_BUSY)
        return connect_owner(client, dir, undo_dir, error);
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

/* An owner that is about to listen, or has just ended, cannot be asked: then
 * try again for a while. */
static gboolean open_or_retry(struct undo_client *client, const char *dir,
                              const char *undo_dir,
                              enum undo_client_purpose purpose, GError **error)
{
    enum { TRIES = 200, PAUSE_MS = 10 };

    for (int i = 0;; i++) {
        g_autoptr(GError) cause = NULL;

        if (open_log(client, dir, undo_dir, purpose, &cause))
            return TRUE;
        if (error_code_of(cause) != ERROR_BACKEND_FAILED || client->ic ||
            i == TRIES) {
            g_propagate_error(error, g_steal_pointer(&cause));
            return FALSE;
        }
        g_clear_pointer(&client->link, control_link_free);
        g_usleep(PAUSE_MS * 1000);
    }
}

struct undo_client *undo_client_open(const char *dir, const char *undo_dir,
                                     enum undo_client_purpose purpose,
                                     undo_client_event event, GError **error)
{
    struct undo_client *client = g_new0(struct undo_client, 1);
    g_autofree char *place = log_place_of(dir, undo_dir, error);

    client->event = event;
    client->loop = g_main_loop_new(NULL, FALSE);
    if (place && open_or_retry(client, dir, place, purpose, error))
        return client;
    undo_client_close(client);
    return NULL;
}

void undo_client_close(struct undo_client *client)
{
    control_link_free(client->link);
    ic_close(client->ic);
    g_main_loop_unref(client->loop);
    json_decref(client->recovery);
    json_decref(client->unfinished);
    json_decref(client->redone);
    g_free(client);
}

static void on_answer(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct undo_client *client = opaque;

    client->payload = payload ? json_incref(payload) : NULL;
    client->error = error ? g_error_copy(error) : NULL;
    client->data = json_incref(data);
    g_main_loop_quit(client->loop);
}

json_t *undo_client_ask(struct undo_client *client, const char *type,
                        json_t *payload, json_t **ret_data, GError **error)
{
    control_link_request(client->link, type, payload, on_answer, client);
    g_main_loop_run(client->loop);
    if (ret_data)
        *ret_data = g_steal_pointer(&client->data);
    g_clear_pointer(&client->data, json_decref);
    if (client->error)
        g_propagate_error(error, g_steal_pointer(&client->error));
    return g_steal_pointer(&client->payload);
}

json_t *undo_client_recovered(struct undo_client *client)
{
    struct ic_step_info *info = client->ic ? ic_recovered(client->ic) : NULL;
    bool taken_back = info && !info->unprotected && !info->damaged &&
                      info->affected > 0;

    ic_step_info_free(info);
    if (!taken_back)
        return NULL;
    /* The event precedes every answer. */
    json_decref(undo_client_ask(client, "status", NULL, NULL, NULL));
    return client->recovery ? json_incref(client->recovery) : NULL;
}

json_t *undo_client_redone(struct undo_client *client)
{
    json_t *report;

    if (!client->ic) /* only the owner reports it */
        return NULL;
    json_decref(undo_client_ask(client, "status", NULL, NULL, NULL));
    report = client->redone ? json_copy(client->redone) : NULL;
    if (report) {
        json_object_del(report, "code");
        json_object_del(report, "message");
    }
    return report;
}

json_t *undo_client_unfinished(struct undo_client *client)
{
    /* The event precedes every answer. */
    if (!client->unfinished)
        json_decref(undo_client_ask(client, "status", NULL, NULL, NULL));
    return json_incref(client->unfinished);
}
