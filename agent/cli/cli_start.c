/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_start - see cli_start.h.
 */
#include "agent/cli/cli_start.h"

#include <string.h>
#include <unistd.h>

#include "agent/cli/cli_sandbox.h"
#include "agent/sandbox/sandbox_name.h"
#include "agent/sandbox/sandbox_spawn.h"
#include "agent/sandbox/sandbox_store.h"
#include "agent/vm/share_check.h"
#include "agent/wire/config_json.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"

enum {
    NUMBER_MAX = 1000, /* of sandboxes with one name */
    END_ATTEMPTS = 20, /* half a second each (sandbox_store_lock) */
};

/* Start the supervisor with this lock (taken). */
static struct sandbox_record *start(const char *name, int lock_fd,
                                    GError **error)
{
    int ready = sandbox_spawn(name, lock_fd, error);
    json_t *session = ready < 0 ? NULL : sandbox_spawn_wait(ready, error);

    if (!session)
        return NULL;
    json_decref(session);
    return sandbox_record_load(name, error);
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
                                     gint64 idle_timeout_s, GError **error)
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
    record = start(created, lock, error);
    if (!record)
        remove_failed(created);
    return record;
}

struct sandbox_record *cli_start_again(struct sandbox_record *record,
                                       GError **error)
{
    g_autofree char *name = g_strdup(record->name);
    int lock = sandbox_store_lock(record->dir_fd, error);

    sandbox_record_free(record);
    if (lock < 0)
        g_prefix_error(error, "sandbox %s: ", name);
    return lock < 0 ? NULL : start(name, lock, error);
}
