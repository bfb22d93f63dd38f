/* SPDX-License-Identifier: Apache-2.0
 *
 * share_check - see share_check.h.
 */
#include "agent/machine/share_check.h"

#include <link.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/real_path.h"

#define KEYS ".ssh"

/* ---- keys and the network ------------------------------------------------ */

static bool contains_home(const char *folder, const char *home)
{
    g_autofree char *real = home && *home == '/' ? real_path_of(home) : NULL;

    /* The home of a service user is often "/" and holds none of the user's
     * files. */
    return real && strcmp(real, "/") != 0 && real_path_is_beneath(real, folder);
}

static bool is_keys(const char *folder)
{
    g_auto(GStrv) names = g_strsplit(folder, "/", -1);
    g_autofree char *keys = g_build_filename(folder, KEYS, NULL);
    struct stat st;

    return g_strv_contains((const char *const *)names, KEYS) ||
           lstat(keys, &st) == 0;
}

/* Return why a folder exposes the user's secrets, or NULL. */
static const char *find_secret(const char *folder)
{
    const struct passwd *user = getpwuid(geteuid());

    if (strcmp(folder, "/") == 0)
        return "it is the host's root folder";
    if (contains_home(folder, g_get_home_dir()) ||
        contains_home(folder, user ? user->pw_dir : NULL))
        return "your home folder is in it";
    return is_keys(folder) ? "it has SSH keys (" KEYS ")" : NULL;
}

static gboolean check_secret(const char *kind, const char *folder,
                             GError **error)
{
    const char *secret = find_secret(folder);

    if (!secret)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "the %s folder %s: %s, and with an open network the "
                "guest could send keys and tokens anywhere; share a "
                "project's folder, close the network (--no-network, or "
                "--network=LIST; \"network_policy\" in the API), or add "
                "--force-share (\"force_share\": true)",
                kind, folder, secret);
    return FALSE;
}

gboolean share_check_secrets(const struct session_config *config,
                             const struct network_policy *policy,
                             GError **error)
{
    if (config->force_share || !network_policy_is_wide(policy))
        return TRUE;
    for (unsigned i = 0; i < config->n_directories; i++) {
        if (!check_secret("working", config->directories[i]->path, error))
            return FALSE;
    }
    for (guint i = 0; i < config->copy_folders->len; i++) {
        if (!check_secret("copy", g_ptr_array_index(config->copy_folders, i),
                          error))
            return FALSE;
    }
    return TRUE;
}

/* ---- files that the host uses -------------------------------------------- */

/* Return the folder that contains path, or NULL. */
static const char *folder_of(const char *const *folders, const char *path)
{
    for (; folders && *folders; folders++) {
        if (real_path_is_beneath(path, *folders))
            return *folders;
    }
    return NULL;
}

const char *share_check_find(const char *const *folders, const char *path)
{
    enum { MAX_LINKS = 40 };
    g_autofree char *place = g_canonicalize_filename(path, NULL);
    const char *folder = NULL;

    for (int i = 0; !folder && place && i < MAX_LINKS; i++) {
        g_autofree char *dir = g_path_get_dirname(place);
        g_autofree char *name = g_path_get_basename(place);
        g_autofree char *real_dir = real_path_of(dir);
        g_autofree char *real = g_build_filename(real_dir, name, NULL);
        g_autofree char *link = g_file_read_link(real, NULL);

        folder = folder_of(folders, place);
        if (!folder)
            folder = folder_of(folders, real);
        g_free(place);
        place = link ? g_canonicalize_filename(link, real_dir) : NULL;
    }
    return folder;
}

const char **share_check_writable(const struct session_config *config)
{
    GPtrArray *folders = g_ptr_array_new();

    for (unsigned i = 0; i < config->n_directories; i++) {
        if (!config->directories[i]->read_only)
            g_ptr_array_add(folders, config->directories[i]->path);
    }
    for (guint i = 0; i < config->copy_folders->len; i++)
        g_ptr_array_add(folders, g_ptr_array_index(config->copy_folders, i));
    g_ptr_array_add(folders, NULL);
    return (const char **)g_ptr_array_free(folders, FALSE);
}

static const char *find_folder(const struct session_config *config,
                               const char *path)
{
    g_autofree const char **folders = share_check_writable(config);

    return share_check_find(folders, path);
}

gboolean share_check_file(const struct session_config *config, const char *what,
                          const char *path, GError **error)
{
    const char *folder = path && !config->force_share
                             ? find_folder(config, path)
                             : NULL;

    if (!folder)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "the folder %s: %s (%s) lies in it, where the guest "
                "could replace it for the host; move it out of the folder, "
                "or add --force-share (\"force_share\": true)",
                folder, what, path);
    return FALSE;
}

gboolean share_check_state(const struct session_config *config,
                           const char *what, const char *path, GError **error)
{
    const char *folder = find_folder(config, path);

    if (!folder)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "the folder %s: %s (%s) lies in it, where the guest "
                "could change it; set XDG_STATE_HOME to a folder outside",
                folder, what, path);
    return FALSE;
}

struct libraries {
    const struct session_config *config;
    GError **error;
};

/* The first object is the program, without a name; others are virtual. */
static int check_library(struct dl_phdr_info *info, size_t size, void *opaque)
{
    const struct libraries *libraries = opaque;

    return strchr(info->dlpi_name, '/') &&
           !share_check_file(libraries->config, "a library of stepback",
                             info->dlpi_name, libraries->error);
}

gboolean share_check_self(const struct session_config *config, GError **error)
{
    struct libraries libraries = { config, error };
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);

    return share_check_file(config, "stepback itself", program, error) &&
           dl_iterate_phdr(check_library, &libraries) == 0;
}
