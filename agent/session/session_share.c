/* SPDX-License-Identifier: Apache-2.0
 *
 * session_share - see session.h: add folders to a running session, and remove
 * them.
 *
 * A folder comes and goes between steps: a step is opened and closed in the
 * same logs. Removal moves later folders down, so it refuses while a request
 * holds the index of a folder, and such requests are refused until it ends.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "agent/client/settings_json.h"
#include "agent/session/grant_store.h"
#include "agent/session/session.h"
#include "agent/session/session_core.h"
#include "agent/session/session_folder.h"
#include "agent/session/session_share.h"
#include "agent/session/session_writers.h"
#include "agent/machine/session_config_check.h"
#include "common/errors.h"
#include "common/fd.h"

struct change {
    struct session *session;
    bool joins; /* an open step gets the new folder */
    struct reply reply;
    unsigned index;
    unsigned waiting; /* settings that its engine has not answered */
    GError *error;    /* of these */
};

static struct change *change_new(struct session *session, unsigned index,
                                 reply_done done, void *opaque)
{
    struct change *change = g_new0(struct change, 1);

    change->session = session;
    change->index = index;
    change->reply = (struct reply){ done, opaque };
    session->sharing = true;
    session->occupied = "a folder is being added or removed";
    return change;
}

static void finish(struct change *change, const struct session_directory *which,
                   const GError *error)
{
    struct session *session = change->session;
    const struct answer answer = { .directory = which };

    session->sharing = false;
    session->occupied = NULL;
    if (!error)
        session_tell_folders(session);
    reply_send(&change->reply, error ? NULL : &answer, error);
    g_clear_error(&change->error);
    g_free(change);
    session_command_over(session);
}

static gboolean check_quiet(struct session *session, GError **error)
{
    if (!session_check_idle(session, error))
        return FALSE;
    if (!session->lookups && !session->writes && session->questions->len == 0 &&
        session->guest_requests->len == 0 && session->patches.length == 0)
        return TRUE;
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_BUSY,
                        "other requests about the folders are running; retry "
                        "when they have ended");
    return FALSE;
}

/* ---- the set of folders -------------------------------------------------- */

/* The undone folders of a step are a bit set of indexes (redo_units.c). */
static void move_undone_down(struct session *session, unsigned index)
{
    unsigned below = (1u << index) - 1;
    GHashTableIter iter;
    void *value;

    g_hash_table_iter_init(&iter, session->undone);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        unsigned set = GPOINTER_TO_UINT(value);

        set = (set & below) | (set >> 1 & ~below);
        if (set)
            g_hash_table_iter_replace(&iter, GUINT_TO_POINTER(set));
        else
            g_hash_table_iter_remove(&iter);
    }
}

/* Return the removed folder; later ones move down. */
static struct session_directory *drop_folder(struct session *session,
                                             unsigned index)
{
    struct session_config *config = session->config;
    struct session_directory *dropped = config->directories[index];
    struct session_folder *folder = &session->folders[index];
    unsigned after = --config->n_directories - index;

    fd_close(&folder->fd);
    g_clear_pointer(&folder->warnings, g_ptr_array_unref);
    g_clear_pointer(&folder->question.pids, g_array_unref);
    memmove(&config->directories[index], &config->directories[index + 1],
            after * sizeof(config->directories[0]));
    memmove(folder, folder + 1, after * sizeof(*folder));
    session->folders[config->n_directories] = (struct session_folder){
        .fd = -1
    };
    move_undone_down(session, index);
    return dropped;
}

/* ---- add ----------------------------------------------------------------- */

static void fail_add(struct change *change, const GError *error)
{
    struct session *session = change->session;

    /* A machine that has ended still has the folder. */
    if (session->state == SESSION_RUNNING)
        session_directory_free(drop_folder(session, change->index));
    finish(change, NULL, error);
}

/* The settings failed: the folder must not stay without its limits. */
static void on_withdrawn(const GError *error, void *opaque)
{
    struct change *change = opaque;

    fail_add(change, change->error);
}

static void withdraw(struct change *change)
{
    struct session *session = change->session;
    g_autoptr(GError) error = NULL;

    if (session->state != SESSION_RUNNING)
        finish(change, NULL, change->error);
    else if (!machine_remove_folder(session->machine, change->index, true,
                                    on_withdrawn, change, &error))
        finish(change, NULL, error);
}

static void on_joined(const GError *error, void *opaque)
{
    struct change *change = opaque;
    struct session *session = change->session;

    if (error) {
        change->error = g_error_copy(error);
        withdraw(change);
    } else {
        finish(change, session->config->directories[change->index], NULL);
    }
}

/* Return the id of the open step in the log of a folder that joins it. If the
 * log is ahead of the session, the command's part there is a later step. */
static gint64 joined_id(struct change *change)
{
    struct session *session = change->session;
    gint64 id = exec_step_id(session->exec);
    gint64 used = backends_last_step_id_of(machine_backends(session->machine),
                                           change->index);

    return id > used ? id : ++session->last_step_id;
}

/* The folder has its settings: a step that is open gets it. */
static void join_step(struct change *change)
{
    struct session *session = change->session;
    const struct session_directory *directory =
        session->config->directories[change->index];

    if (!change->joins || !session->exec || directory->read_only ||
        !exec_join_step(session->exec, joined_id(change),
                        session_folder_link(session, change->index),
                        directory->label, on_joined, change))
        finish(change, directory, NULL);
}

static void on_set(json_t *payload, const GError *error, json_t *data,
                   void *opaque)
{
    struct change *change = opaque;

    if (error && !change->error)
        change->error = g_error_copy(error);
    if (--change->waiting > 0)
        return;
    if (change->error)
        withdraw(change);
    else
        join_step(change);
}

/* payload is taken. */
static void set(struct change *change, const char *type, json_t *payload)
{
    change->waiting++;
    control_link_request(session_folder_link(change->session, change->index),
                         type, payload, on_set, change);
}

static void on_added(const GError *error, void *opaque)
{
    struct change *change = opaque;
    struct session *session = change->session;
    const struct session_config *config = session->config;
    struct backends *backends;

    if (error) {
        fail_add(change, error);
        return;
    }
    backends = machine_backends(session->machine);
    session->last_step_id = MAX(session->last_step_id,
                                backends_last_step_id(backends));
    if (backends_has_undo(backends, change->index)) {
        if (config->limits)
            set(change, "configure", limits_to_json(config->limits));
        if (config->rules)
            set(change, "safeguard.configure", rules_to_json(config->rules));
        session_writers_follow(session, change->index);
    }
    set(change, "status", NULL);
}

static gboolean open_folder(struct session *session, unsigned index,
                            GError **error)
{
    const char *path = session->config->directories[index]->path;
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "the working folder %s: %s", path, g_strerror(errno));
    session->folders[index].fd = fd;
    return fd >= 0;
}

/* joins: a step may be open. */
static void add(struct session *session, const struct session_share *share,
                bool joins, reply_done done, void *opaque)
{
    struct session_config *config = session->config;
    struct change *change;
    GError *error = NULL;
    unsigned index;

    if (!session_config_share(config, share, &error)) {
        reply_post_error(done, opaque, error);
        return;
    }
    index = config->n_directories - 1;
    change = change_new(session, index, done, opaque);
    change->joins = joins;
    if (session_config_check_added(config, &error) &&
        open_folder(session, index, &error) &&
        machine_add_folder(session->machine, on_added, change, &error))
        return;
    session_directory_free(drop_folder(session, index));
    session->sharing = false;
    session->occupied = NULL;
    g_free(change);
    reply_post_error(done, opaque, error);
}

void session_folder_add(struct session *session,
                        const struct session_share *share, reply_done done,
                        void *opaque)
{
    GError *error = NULL;

    if (check_quiet(session, &error))
        add(session, share, false, done, opaque);
    else
        reply_post_error(done, opaque, error);
}

bool session_folder_can_attach(const struct session *session)
{
    return session->state == SESSION_RUNNING && !session->occupied &&
           !session->lookups && !session->writes &&
           session->questions->len == 0 && session->patches.length == 0;
}

void session_folder_attach(struct session *session,
                           const struct session_share *share, reply_done done,
                           void *opaque)
{
    add(session, share, true, done, opaque);
}

/* ---- remove -------------------------------------------------------------- */

/* A kept grant does not come back. */
static void forget_grant(struct session *session, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;

    if (grant_store_remove(session->config, path, &error))
        return;
    text = g_strdup_printf("the grant of %s comes back at the next start: %s",
                           path, error->message);
    session_warn_text(session, "grant_not_forgotten", text);
}

static void on_removed(const GError *error, void *opaque)
{
    struct change *change = opaque;
    struct session_directory *directory = NULL;

    if (!error)
        directory = drop_folder(change->session, change->index);
    if (directory && directory->grant && directory->grant->is_kept)
        forget_grant(change->session, directory->path);
    finish(change, directory, error);
    if (directory)
        session_directory_free(directory);
}

void session_folder_remove(struct session *session, struct folder_ref directory,
                           bool force, reply_done done, void *opaque)
{
    struct change *change;
    GError *error = NULL;
    unsigned index;

    if (!check_quiet(session, &error) ||
        !session_find_folder(session, directory, &index, &error)) {
        reply_post_error(done, opaque, error);
        return;
    }
    if (index == 0) {
        reply_post_refusal(done, opaque, ERROR_INVALID_FIELD,
                           "the first folder cannot be removed, because "
                           "commands start in it; stop the sandbox instead "
                           "(stepback stop, or session.stop)");
        return;
    }
    change = change_new(session, index, done, opaque);
    if (machine_remove_folder(session->machine, index, force, on_removed,
                              change, &error))
        return;
    session->sharing = false;
    session->occupied = NULL;
    g_free(change);
    reply_post_error(done, opaque, error);
}
