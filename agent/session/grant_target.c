/* SPDX-License-Identifier: Apache-2.0
 *
 * grant_target - see grant_target.h.
 */
#include "agent/session/grant_target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/session/host_walk.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/real_path.h"

static int open_folder(int at, const char *path, guint64 more)
{
    const struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | more,
    };

    return (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
}

static const char *explain(int error)
{
    return error == EREMOTE ? "it is an automounter's, and not mounted now"
                            : g_strerror(error);
}

void grant_target_open(const char *path, struct grant_target *ret_target)
{
    g_autofree char *plain = g_canonicalize_filename(path, "/");
    int fd = host_walk(plain, &ret_target->path);

    ret_target->fd = fd < 0 ? -1 : fd;
    ret_target->problem = fd < 0 ? g_strdup(explain(-fd)) : NULL;
}

void grant_target_clear(struct grant_target *target)
{
    g_clear_pointer(&target->path, g_free);
    g_clear_pointer(&target->problem, g_free);
    fd_close(&target->fd);
}

static gboolean open_part(const struct grant_target *target, const char *real,
                          struct grant_part *ret_part, GError **error)
{
    const char *rest = real + strlen(target->path);
    fd_auto int fd = -1;
    struct stat st;

    rest += strspn(rest, "/");
    fd = open_folder(target->fd, *rest ? rest : ".", RESOLVE_BENEATH);
    if (fd < 0 || fstat(fd, &st) < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "the folder %s: %s", real, g_strerror(errno));
        return FALSE;
    }
    *ret_part = (struct grant_part){ g_strdup(real), st.st_dev, st.st_ino };
    return TRUE;
}

gboolean grant_target_narrow(const struct grant_target *target,
                             const char *path, struct grant_part *ret_part,
                             GError **error)
{
    g_autofree char *real = NULL;

    if (target->problem) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "the folder %s: %s; a request for it can only be denied",
                    target->path, target->problem);
        return FALSE;
    }
    if (path && !g_path_is_absolute(path)) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'path' must be an absolute path");
        return FALSE;
    }
    real = path ? real_path_of(path) : g_strdup(target->path);
    if (!real_path_is_beneath(real, target->path)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "%s does not lie in %s, which was asked for; an answer can "
                    "only narrow a request",
                    real, target->path);
        return FALSE;
    }
    return open_part(target, real, ret_part, error);
}
