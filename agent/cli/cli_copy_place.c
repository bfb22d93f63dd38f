/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_copy_place - see cli_copy_place.h.
 */
#include "agent/cli/cli_copy_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/log_above.h"
#include "common/errors.h"
#include "common/fd.h"
#include "copy/tree_pack.h"

static gboolean fail(const char *path, const char *folder, GError **error)
{
    if (errno == EXDEV)
        g_set_error(error, STEPBACK_ERROR, ERROR_PATH_OUTSIDE_ROOT,
                    "%s: a symbolic link leads out of %s, which a guest can "
                    "write; name the place itself",
                    path, folder);
    else
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "%s: %s", path,
                    g_strerror(errno));
    return FALSE;
}

static int open_beneath(int folder, const char *path, guint64 flags)
{
    const struct open_how how = {
        .flags = O_PATH | O_CLOEXEC | flags,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };

    return (int)syscall(SYS_openat2, folder, *path ? path : ".", &how,
                        sizeof(how));
}

static bool is_shared(const char *path, const char *const *folders)
{
    char *real = realpath(path, NULL);
    bool found = real &&
                 (g_strv_contains(folders, real) || log_above_is_at(real));

    free(real);
    return found;
}

/* Return the first shared folder above this absolute path: a new string, or
 * NULL. */
static char *find_shared(const char *path, const char *const *folders)
{
    for (const char *end = path; (end = strchr(end + 1, '/'));) {
        g_autofree char *above = g_strndup(path, (gsize)(end - path));

        if (is_shared(above, folders))
            return g_steal_pointer(&above);
    }
    return NULL;
}

static void set_path(struct copy_plan *plan, const char *path)
{
    g_free(plan->host_path);
    plan->host_path = g_strdup(path);
}

/* Use an entry of the directory at its parent, and follow no link there. */
static bool enter_parent(struct copy_plan *plan, int shared, const char *rest)
{
    g_autofree char *parent = g_path_get_dirname(rest);
    g_autofree char *name = g_path_get_basename(rest);
    fd_auto int fd = open_beneath(shared, parent, O_DIRECTORY);

    if (fd < 0 || fchdir(fd) < 0)
        return false;
    if (!plan->in)
        plan->dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    set_path(plan, name);
    return plan->in || plan->dir_fd >= 0;
}

/* Use the directory or, of a source that is followed, the file itself. */
static bool enter_whole(struct copy_plan *plan, int fd, bool content)
{
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    bool is_directory = fchdir(fd) == 0;

    if (!is_directory && errno != ENOTDIR)
        return false;
    plan->top = content ? NULL : tree_pack_top(plan->host_path);
    plan->options.follow |= !is_directory;
    set_path(plan, is_directory ? "." : path);
    return true;
}

static bool enter(struct copy_plan *plan, int shared, const char *rest)
{
    size_t len = strlen(plan->host_path);
    bool content = g_str_has_suffix(plan->host_path, "/.");
    bool slash = content || plan->host_path[len - 1] == '/';
    bool whole = !plan->in || slash || plan->options.follow;
    int fd;

    if (!whole)
        return enter_parent(plan, shared, rest);
    fd = open_beneath(shared, rest, !plan->in || slash ? O_DIRECTORY : 0);
    if (fd >= 0)
        return enter_whole(plan, fd, content); /* fd stays open */
    return !plan->in && !slash && (errno == ENOENT || errno == ENOTDIR) &&
           enter_parent(plan, shared, rest);
}

gboolean cli_copy_enter_place(struct copy_plan *plan,
                              const char *const *folders, GError **error)
{
    g_autofree char *path = plan->stream ? NULL
                                         : g_canonicalize_filename(
                                               plan->host_path, NULL);
    g_autofree char *folder = path ? find_shared(path, folders) : NULL;
    g_autofree char *shown = g_strdup(plan->host_path);
    fd_auto int shared = -1;

    if (!folder)
        return TRUE;
    shared = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return (shared >= 0 && enter(plan, shared, path + strlen(folder) + 1)) ||
           fail(shown, folder, error);
}
