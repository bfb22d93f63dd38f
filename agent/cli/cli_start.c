/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_start - see cli_start.h.
 */
#include "agent/cli/cli_start.h"

#include <glib-unix.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_progress.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/sandbox/sandbox_name.h"
#include "agent/sandbox/sandbox_spawn.h"
#include "agent/wire/secret_json.h"
#include "agent/sandbox/sandbox_store.h"
#include "agent/machine/share_check.h"
#include "agent/wire/config_json.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"

enum {
    NUMBER_MAX = 1000, /* of sandboxes with one name */
    END_ATTEMPTS = 20, /* half a second each (sandbox_store_lock) */
};

/* ---- progress ------------------------------------------------------------ */

struct waiting {
    GMainLoop *loop;
    char *what; /* NULL: not known yet */
};

static gboolean on_readable(int fd, GIOCondition condition, gpointer data)
{
    struct waiting *waiting = data;

    g_main_loop_quit(waiting->loop);
    return G_SOURCE_REMOVE;
}

static void wait_readable(int fd, void *opaque)
{
    struct waiting *waiting = opaque;

    g_unix_fd_add(fd, G_IO_IN | G_IO_HUP, on_readable, waiting);
    g_main_loop_run(waiting->loop);
}

static void take_what(const char *what, void *opaque)
{
    struct waiting *waiting = opaque;

    g_free(waiting->what);
    waiting->what = g_strdup(what);
}

static void take_recovered(const char *line, void *opaque)
{
    g_autofree char *shown = cli_options_printable(line);

    cli_progress_hide();
    fprintf(stderr, CLI_PROGRAM ": %s\n", shown);
}

static const char *what_starts(void *opaque)
{
    const struct waiting *waiting = opaque;

    return waiting->what;
}

static json_t *wait_with_progress(int ready, GError **error)
{
    struct waiting waiting = { .loop = g_main_loop_new(NULL, FALSE) };
    const struct sandbox_spawn_watch watch = { wait_readable, take_what,
                                               take_recovered, &waiting };
    struct cli_progress *progress = cli_progress_new(what_starts, &waiting);
    json_t *session = sandbox_spawn_wait(ready, &watch, error);

    cli_progress_free(progress);
    g_main_loop_unref(waiting.loop);
    g_free(waiting.what);
    return session;
}

/* ---- start --------------------------------------------------------------- */

/* Start the supervisor with this lock (taken). */
/* secrets: secret.h. */
static int spawn(const char *name, int lock_fd, const GPtrArray *secrets,
                 GError **error)
{
    char **env = secret_list_pass_on(secrets);
    int ready = sandbox_spawn(name, lock_fd, env, error);

    for (char **entry = env; *entry; entry++)
        explicit_bzero(*entry, strlen(*entry));
    g_strfreev(env);
    return ready;
}

static struct sandbox_record *start(const char *name, int lock_fd,
                                    const GPtrArray *secrets,
                                    json_t **ret_session, GError **error)
{
    int ready = spawn(name, lock_fd, secrets, error);
    struct sandbox_record *record;
    json_t *session;

    if (ready < 0)
        return NULL;
    session = ret_session ? wait_with_progress(ready, error)
                          : sandbox_spawn_wait(ready, NULL, error);
    record = session ? sandbox_record_load(name, error) : NULL;
    if (record && ret_session)
        *ret_session = json_incref(session);
    json_decref(session);
    return record;
}

/* Refuse a second sandbox over the same folder: their file servers would
 * exclude each other by the undo log. */
static gboolean check_folders(const struct session_config *config,
                              GError **error)
{
    for (unsigned i = 0; i < config->n_directories; i++) {
        const char *path = config->directories[i]->path;
        g_autoptr(GPtrArray)
            others = cli_sandbox_of_folder(path, true, true, error);
        g_autofree char *names = others ? cli_sandbox_names(others) : NULL;

        if (!others)
            return FALSE;
        if (others->len == 0 || config->directories[i]->read_only)
            continue;
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "%s: sandbox %s already runs over this folder; use it, or "
                    "stop it with 'stepback stop %s'",
                    path, names, names);
        return FALSE;
    }
    return TRUE;
}

static gboolean check_state(const struct session_config *config, GError **error)
{
    g_autofree char *path = sandbox_store_path(NULL);

    return share_check_state(config, "the state directory of sandboxes", path,
                             error);
}

static json_t *build(const char *name, const struct session_config *config,
                     gint64 idle_timeout_s)
{
    return sandbox_config_new(name, config_to_json(config), idle_timeout_s);
}

/* Create a sandbox and set *ret_name (owned). Return its lock or -1. */
static int create(const char *name, const struct session_config *config,
                  gint64 idle_timeout_s, char **ret_name, GError **error)
{
    g_autofree char *base = name ? g_strdup(name)
                                 : sandbox_name_of_folder(
                                       config->directories[0]->path);

    for (unsigned n = 1; n <= NUMBER_MAX; n++) {
        g_autofree char *numbered = sandbox_name_numbered(base, n);
        g_autoptr(GError) cause = NULL;
        int lock = sandbox_store_create(
            numbered, build(numbered, config, idle_timeout_s), &cause);

        if (lock >= 0) {
            *ret_name = g_steal_pointer(&numbered);
            return lock;
        }
        if (name || cause->code != ERROR_BUSY || n == NUMBER_MAX) {
            g_propagate_error(error, g_steal_pointer(&cause));
            return -1;
        }
    }
    return -1;
}

/* Remove a sandbox that has never run, once its supervisor has ended. One whose
 * supervisor was killed stays, with its log. */
static void remove_failed(const char *name)
{
    g_autoptr(sandbox_record) record = NULL;
    fd_auto int dir = sandbox_store_open(name, NULL);
    fd_auto int lock = -1;

    for (int i = 0; dir >= 0 && lock < 0 && i < END_ATTEMPTS; i++)
        lock = sandbox_store_lock(dir, NULL);
    if (lock < 0)
        return;
    record = sandbox_record_load(name, NULL);
    if (record && record->end)
        sandbox_store_remove(name, NULL);
}

struct sandbox_record *cli_start_new(const char *name,
                                     const struct session_config *config,
                                     gint64 idle_timeout_s,
                                     json_t **ret_session, GError **error)
{
    g_autofree char *created = NULL;
    struct sandbox_record *record;
    fd_auto int claim = -1;
    int lock = -1;

    /* First: nothing is created within a shared folder. */
    if (!check_state(config, error))
        return NULL;
    claim = sandbox_store_claim(error);
    if (claim >= 0 && check_folders(config, error))
        lock = create(name, config, idle_timeout_s, &created, error);
    fd_close(&claim);
    if (lock < 0)
        return NULL;
    record = start(created, lock, config->secrets, ret_session, error);
    if (!record)
        remove_failed(created);
    return record;
}

struct sandbox_record *cli_start_again(struct sandbox_record *record,
                                       json_t **ret_session, GError **error)
{
    g_autofree char *name = g_strdup(record->name);
    json_t *session = json_object_get(record->config, "session");
    g_autoptr(GPtrArray) secrets = secret_list_new();
    int lock = -1;

    if (secrets_from_json(json_object_get(session, "secrets"), secrets, error))
        lock = sandbox_store_lock(record->dir_fd, error);
    sandbox_record_free(record);
    if (lock < 0)
        g_prefix_error(error, "sandbox %s: ", name);
    return lock < 0 ? NULL : start(name, lock, secrets, ret_session, error);
}
