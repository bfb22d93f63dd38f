/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_file - see sandbox_file.h.
 */
#include "agent/sandbox/sandbox_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"

enum { MAX_SIZE = 1 << 20 };

static gboolean fail(GError **error, const char *what, const char *name,
                     int number)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "%s: %s: %s", name, what,
                g_strerror(number));
    return FALSE;
}

/* Name the whole path, and what to do where the disk is full. */
static gboolean fail_write(GError **error, int dir_fd, const char *name,
                           int number)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", dir_fd);
    g_autofree char *folder = g_file_read_link(link, NULL);
    g_autofree char *path = folder ? g_build_filename(folder, name, NULL)
                                   : g_strdup(name);
    const char *remedy = number == ENOSPC || number == EDQUOT || number == EFBIG
                             ? "; make room on that disk, and try again"
                             : "";

    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                "%s: cannot write it: %s%s", path, g_strerror(number), remedy);
    return FALSE;
}

/* Return 0 or -errno. */
static int write_new(int dir_fd, const char *name, const char *text)
{
    fd_auto int fd = openat(
        dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
        0600);
    int err = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));

    if (!err && fsync(fd) < 0)
        err = -errno;
    return err;
}

gboolean sandbox_file_write(int dir_fd, const char *name, json_t *object,
                            GError **error)
{
    g_autofree char *fresh = g_strdup_printf("%s.new", name);
    char *text;
    int err;

    json_object_set_new(object, "version", json_integer(SANDBOX_FILE_VERSION));
    text = json_dumps(object, JSON_INDENT(2));
    json_decref(object);
    err = text ? write_new(dir_fd, fresh, text) : -EILSEQ;
    free(text);
    if (!err && renameat(dir_fd, fresh, dir_fd, name) < 0)
        err = -errno;
    if (!err && fsync(dir_fd) < 0)
        err = -errno;
    if (!err)
        return TRUE;
    unlinkat(dir_fd, fresh, 0);
    return fail_write(error, dir_fd, name, -err);
}

json_t *sandbox_file_read(int dir_fd, const char *name, GError **error)
{
    g_autofree char *text = NULL;
    json_t *object, *version;
    size_t len;
    int err = fd_read_file(dir_fd, name, MAX_SIZE, &text, &len);

    if (err == -ENOENT)
        g_set_error(error, STEPBACK_ERROR, ERROR_NOT_FOUND, "%s: no such file",
                    name);
    else if (err)
        fail(error, "cannot read it", name, -err);
    if (err)
        return NULL;
    object = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    version = json_object_get(object, "version");
    if (json_is_integer(version) &&
        json_integer_value(version) == SANDBOX_FILE_VERSION)
        return object;
    if (json_is_integer(version))
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "%s: version %" JSON_INTEGER_FORMAT
                    " was written by another version of Stepback; this one "
                    "reads version %d",
                    name, json_integer_value(version), SANDBOX_FILE_VERSION);
    else
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "%s: not a state file of Stepback", name);
    json_decref(object);
    return NULL;
}
