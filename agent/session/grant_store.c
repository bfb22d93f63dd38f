/* SPDX-License-Identifier: Apache-2.0
 *
 * grant_store - see grant_store.h.
 *
 * A group "grant N" for each grant. Paths are bytes: escaped as in C.
 */
#include "agent/session/grant_store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/base/state_place.h"
#include "agent/machine/share_check.h"
#include "common/errors.h"
#include "common/fd.h"

#define SANDBOX "sandbox"
#define PREFIX  "grant "

enum {
    DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
    MAX_SIZE = 1 << 20,
};

static char *place(void)
{
    return g_build_filename(g_get_user_state_dir(), "stepback", "grants", NULL);
}

static char *file_name(const struct session_config *config)
{
    g_autofree char *hash = g_compute_checksum_for_string(
        G_CHECKSUM_SHA256, config->directories[0]->path, -1);

    return g_strconcat(hash, ".ini", NULL);
}

char *grant_store_path(const struct session_config *config)
{
    g_autofree char *dir = place(), *name = file_name(config);

    return g_build_filename(dir, name, NULL);
}

static gboolean fail(GError **error, const char *path, int number)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "%s: %s", path,
                g_strerror(number));
    return FALSE;
}

/* Open the place, and lock it. On failure return -1 and error; without create,
 * a place that is missing sets no error. */
static int open_place(const struct session_config *config, bool create,
                      GError **error)
{
    g_autofree char *path = place();
    fd_auto int fd = -1;

    if (!state_place_check(path, error) ||
        !share_check_state(config, "the folder of kept grants", path, error))
        return -1;
    if (create)
        g_mkdir_with_parents(path, 0700);
    fd = open(path, DIR_FLAGS);
    if (fd < 0 && errno == ENOENT && !create)
        return -1;
    if (fd < 0 || flock(fd, LOCK_EX) < 0) {
        fail(error, path, errno);
        return -1;
    }
    return state_place_check_own(fd, path, error) ? fd_steal(&fd) : -1;
}

/* ---- the file ------------------------------------------------------------ */

static void stored_grant_free(gpointer data)
{
    struct stored_grant *grant = data;

    g_free(grant->path);
    folder_grant_free(grant->info);
    g_free(grant);
}

static char *get_text(GKeyFile *file, const char *group, const char *key)
{
    char *text = g_key_file_get_string(file, group, key, NULL);

    return text ? text : g_strdup("");
}

/* Return NULL for a group that is no grant. */
static struct stored_grant *read_group(GKeyFile *file, const char *group)
{
    g_autofree char *escaped = get_text(file, group, "path");
    g_autofree char *access = get_text(file, group, "access");
    g_autofree char *time = get_text(file, group, "time");
    g_autoptr(GDateTime) date = g_date_time_new_from_iso8601(time, NULL);
    struct stored_grant *grant;

    if (!g_str_has_prefix(group, PREFIX) || *escaped != '/')
        return NULL;
    grant = g_new0(struct stored_grant, 1);
    grant->path = g_strcompress(escaped);
    grant->read_only = strcmp(access, "read_write") != 0;
    grant->info = g_new0(struct folder_grant, 1);
    grant->info->origin = get_text(file, group, "origin");
    grant->info->reason = get_text(file, group, "reason");
    grant->info->time = date ? g_date_time_to_unix(date) * G_USEC_PER_SEC : 0;
    grant->info->is_kept = true;
    return grant;
}

static GPtrArray *parse(const char *path, const char *text, size_t length,
                        GError **error)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_auto(GStrv) groups = NULL;
    GPtrArray *grants;

    if (!g_key_file_load_from_data(file, text, length, G_KEY_FILE_NONE, NULL) ||
        !g_key_file_has_group(file, SANDBOX)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "%s: not a file of kept grants; remove it", path);
        return NULL;
    }
    grants = g_ptr_array_new_with_free_func(stored_grant_free);
    groups = g_key_file_get_groups(file, NULL);
    for (char **group = groups; *group; group++) {
        struct stored_grant *grant = read_group(file, *group);

        if (grant)
            g_ptr_array_add(grants, grant);
    }
    return grants;
}

static GPtrArray *load(const struct session_config *config, int dir,
                       GError **error)
{
    g_autofree char *name = file_name(config);
    g_autofree char *path = grant_store_path(config);
    g_autofree char *text = NULL;
    size_t length;
    int err = fd_read_file(dir, name, MAX_SIZE, &text, &length);

    if (err == -ENOENT)
        return g_ptr_array_new_with_free_func(stored_grant_free);
    if (!err)
        return parse(path, text, length, error);
    fail(error, path, -err);
    return NULL;
}

static void write_group(GKeyFile *file, guint number,
                        const struct stored_grant *grant)
{
    g_autofree char *group = g_strdup_printf(PREFIX "%u", number);
    g_autofree char *path = g_strescape(grant->path, NULL);
    g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(
        grant->info->time / G_USEC_PER_SEC);
    g_autofree char *time = g_date_time_format_iso8601(date);

    g_key_file_set_string(file, group, "path", path);
    g_key_file_set_string(file, group, "access",
                          grant->read_only ? "read_only" : "read_write");
    g_key_file_set_string(file, group, "origin", grant->info->origin);
    g_key_file_set_string(file, group, "reason", grant->info->reason);
    g_key_file_set_string(file, group, "time", time);
}

/* Return 0 or -errno. */
static int replace(int dir, const char *name, const char *text)
{
    g_autofree char *fresh = g_strdup_printf("%s.new", name);
    fd_auto int fd = openat(
        dir, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
        0600);
    int err = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));

    if (!err && (fsync(fd) < 0 || renameat(dir, fresh, dir, name) < 0 ||
                 fsync(dir) < 0))
        err = -errno;
    if (err)
        unlinkat(dir, fresh, 0);
    return err;
}

static gboolean save(const struct session_config *config, int dir,
                     const GPtrArray *grants, GError **error)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autofree char *name = file_name(config), *text = NULL;
    g_autofree char *folder = g_strescape(config->directories[0]->path, NULL);
    g_autofree char *path = grant_store_path(config);
    int err = 0;

    if (grants->len == 0) {
        if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
            err = -errno;
        return err ? fail(error, path, -err) : TRUE;
    }
    g_key_file_set_string(file, SANDBOX, "folder", folder);
    for (guint i = 0; i < grants->len; i++)
        write_group(file, i + 1, g_ptr_array_index(grants, i));
    text = g_key_file_to_data(file, NULL, NULL);
    err = replace(dir, name, text);
    return err ? fail(error, path, -err) : TRUE;
}

/* ---- requests ------------------------------------------------------------ */

GPtrArray *grant_store_load(const struct session_config *config, GError **error)
{
    GError *cause = NULL;
    fd_auto int dir = open_place(config, false, &cause);

    if (dir >= 0)
        return load(config, dir, error);
    if (!cause)
        return g_ptr_array_new_with_free_func(stored_grant_free);
    g_propagate_error(error, cause);
    return NULL;
}

static bool drop(GPtrArray *grants, const char *path)
{
    bool found = false;

    for (guint i = grants->len; i-- > 0;) {
        const struct stored_grant *grant = g_ptr_array_index(grants, i);

        if (strcmp(grant->path, path) != 0)
            continue;
        g_ptr_array_remove_index(grants, i);
        found = true;
    }
    return found;
}

gboolean grant_store_add(const struct session_config *config,
                         const struct session_directory *directory,
                         GError **error)
{
    fd_auto int dir = open_place(config, true, error);
    g_autoptr(GPtrArray) grants = dir < 0 ? NULL : load(config, dir, error);
    struct stored_grant *grant;

    if (!grants)
        return FALSE;
    drop(grants, directory->path);
    grant = g_new0(struct stored_grant, 1);
    grant->path = g_strdup(directory->path);
    grant->read_only = directory->read_only;
    grant->info = folder_grant_copy(directory->grant);
    g_ptr_array_add(grants, grant);
    return save(config, dir, grants, error);
}

gboolean grant_store_remove(const struct session_config *config,
                            const char *path, GError **error)
{
    fd_auto int dir = open_place(config, true, error);
    g_autoptr(GPtrArray) grants = dir < 0 ? NULL : load(config, dir, error);

    return grants && (!drop(grants, path) || save(config, dir, grants, error));
}
