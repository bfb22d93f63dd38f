/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_copy_place - see mcp_copy_place.h.
 */
#include "agent/mcp/mcp_copy_place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "agent/session/fs_view.h"
#include "agent/wire/payload.h"
#include "common/errors.h"
#include "common/fd.h"

/* Return the rest of path beneath folder ("" for the folder), or NULL. Both are
 * canonical. */
static const char *rest_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);

    if (strncmp(path, folder, len) != 0 || (path[len] && path[len] != '/'))
        return NULL;
    return path[len] ? path + len + 1 : path + len;
}

const struct session_directory *
mcp_copy_place_shared(const struct session_config *config, const char *path)
{
    g_autofree char *clean = g_canonicalize_filename(path, "/");

    for (unsigned i = 0; i < config->n_directories; i++) {
        if (rest_below(clean, config->directories[i]->guest_path))
            return config->directories[i];
    }
    return NULL;
}

/* ---- copy folders -------------------------------------------------------- */

static gboolean fail(GError **error, const char *path, int code)
{
    if (code == EXDEV || code == ELOOP)
        g_set_error(error, STEPBACK_ERROR, ERROR_PATH_OUTSIDE_ROOT,
                    "%s: leads out of the copy folder, by '..' or a symbolic "
                    "link; copies do not follow it",
                    path);
    else
        g_set_error(error, STEPBACK_ERROR,
                    code == ENOENT ? ERROR_NOT_FOUND : ERROR_IO_ERROR, "%s: %s",
                    path, g_strerror(code));
    return FALSE;
}

static int open_below(int root_fd, const char *path)
{
    return fs_view_open(root_fd, path, O_PATH | O_DIRECTORY);
}

/* Open the directory that rest names itself. */
static bool open_whole(int root_fd, const char *rest,
                       struct mcp_copy_place *place)
{
    place->dir_fd = open_below(root_fd, rest);
    if (place->dir_fd >= 0)
        place->name = g_strdup(".");
    return place->dir_fd >= 0;
}

static gboolean open_place(const char *folder, const char *rest, bool content,
                           bool target, struct mcp_copy_place *place,
                           GError **error)
{
    fd_auto int root_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    g_autofree char *path = g_build_filename(folder, rest, NULL);
    g_autofree char *parent = g_path_get_dirname(rest);

    if (root_fd < 0)
        return fail(error, folder, errno);
    if (*rest == '\0' || content || target) {
        if (open_whole(root_fd, rest, place))
            return TRUE;
        if (!target || content || *rest == '\0' ||
            (place->dir_fd != -ENOENT && place->dir_fd != -ENOTDIR))
            return fail(error, path, -place->dir_fd);
    }
    place->dir_fd = open_below(root_fd, parent);
    if (place->dir_fd < 0)
        return fail(error, path, -place->dir_fd);
    place->name = g_path_get_basename(rest);
    return TRUE;
}

/* ---- all folders --------------------------------------------------------- */

static gboolean refuse(const struct session_config *config, const char *path,
                       GError **error)
{
    g_autoptr(GString) list = g_string_new(NULL);

    for (unsigned i = 0; i < config->n_directories; i++)
        g_string_append_printf(list, "%s%s", i ? ", " : "",
                               config->directories[i]->path);
    for (guint i = 0; i < config->copy_folders->len; i++)
        g_string_append_printf(
            list, ", %s",
            (const char *)g_ptr_array_index(config->copy_folders, i));
    g_set_error(error, STEPBACK_ERROR, ERROR_PATH_OUTSIDE_ROOT,
                "%s: not in a folder of the host that copies may use (%s); "
                "the user can allow another one with --copy-folder=DIR of "
                "stepback mcp or stepback up",
                path, list->str);
    return FALSE;
}

/* A path of the guest, or of the host, in a shared folder. */
static char *find_shared(const struct session_config *config, const char *path)
{
    for (unsigned i = 0; i < config->n_directories; i++) {
        const struct session_directory *directory = config->directories[i];
        const char *rest = rest_below(path, directory->guest_path);

        if (!rest)
            rest = rest_below(path, directory->path);
        if (rest)
            return g_build_filename(directory->guest_path, rest, NULL);
    }
    return NULL;
}

/* Return the path in its canonical form, absolute; NULL and error on
 * failure. */
static char *complete(const struct session_config *config, json_t *arguments,
                      const char *path, GError **error)
{
    unsigned index = 0;

    if (*path == '/')
        return g_canonicalize_filename(path, NULL);
    if (!session_directory_find(config->directories, config->n_directories,
                                folder_from_json(arguments), &index, error))
        return NULL;
    return g_canonicalize_filename(path, config->directories[index]->path);
}

gboolean mcp_copy_place_find(const struct session_config *config,
                             json_t *arguments, bool target,
                             struct mcp_copy_place *ret_place, GError **error)
{
    const char *given = json_string_value(
        json_object_get(arguments, "host_path"));
    bool content = g_str_has_suffix(given, "/.") || g_str_equal(given, ".");
    g_autofree char *path = complete(config, arguments, given, error);

    *ret_place = (struct mcp_copy_place){ .dir_fd = -1 };
    if (!path)
        return FALSE;
    ret_place->shared = find_shared(config, path);
    if (ret_place->shared && content) {
        g_autofree char *plain = g_steal_pointer(&ret_place->shared);

        ret_place->shared = g_strconcat(plain, "/.", NULL);
    }
    if (ret_place->shared)
        return TRUE;
    for (guint i = 0; i < config->copy_folders->len; i++) {
        const char *folder = g_ptr_array_index(config->copy_folders, i);
        const char *rest = rest_below(path, folder);

        if (rest)
            return open_place(folder, rest, content, target, ret_place, error);
    }
    return refuse(config, path, error);
}

void mcp_copy_place_clear(struct mcp_copy_place *place)
{
    fd_close(&place->dir_fd);
    g_free(place->shared);
    g_free(place->name);
    *place = (struct mcp_copy_place){ .dir_fd = -1 };
}
