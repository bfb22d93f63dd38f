/* SPDX-License-Identifier: Apache-2.0
 *
 * write_file - ic_write_file(): write a file as a step of its own.
 *
 * It goes through the mutation layer, name by name, like a client's changes, so
 * that it follows no symlink that a client could have put into the path. If it
 * fails after its step has begun, the step is rolled back.
 */
#include "interceptor/mutate/write_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common/log_name.h"
#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/engine/engine.h"
#include "interceptor/engine/grants.h"
#include "interceptor/engine/parking.h"
#include "interceptor/engine/safeguard.h"
#include "interceptor/engine/stale.h"
#include "interceptor/mutate/mutate_name.h"
#include "interceptor/report/report.h"
#include "interceptor/sys/sys.h"

enum {
    DEFAULT_MODE = 0644,
    DEFAULT_FOLDER_MODE = 0755,
    /* A client may remove a folder between two attempts to make and enter
     * it. */
    MAX_ATTEMPTS = 16,
};

void write_file_target_clear(struct write_file_target *target)
{
    ic_inode_unref(target->dir);
    ic_inode_unref(target->file);
    g_strfreev(target->missing);
    g_free(target->name);
}

gboolean write_file_fail(GError **error, int code, const char *path,
                         const char *what)
{
    g_autofree char *shown = g_utf8_make_valid(path, -1);

    g_set_error(error, STEPBACK_ERROR, code, "%s: %s", shown, what);
    return FALSE;
}

gboolean write_file_fail_errno(GError **error, const char *path, int rc)
{
    int code = ERROR_IO_ERROR;

    switch (-rc) {
    case ENOENT:
    case ENOTDIR:
        code = ERROR_NOT_FOUND;
        break;
    case EROFS:
        code = ERROR_READ_ONLY_DIRECTORY;
        break;
    case EFBIG:
        code = ERROR_TOO_LARGE;
        break;
    case EINVAL:
    case ENAMETOOLONG:
        code = ERROR_INVALID_FIELD;
        break;
    default:
        break;
    }
    return write_file_fail(error, code, path, g_strerror(-rc));
}

gboolean write_file_fail_denied(GError **error, const char *path)
{
    return write_file_fail(error, ERROR_DENIED, path, g_strerror(EPERM));
}

void write_file_check_denied(struct ic *ic, int64_t id, const char *path,
                             GError **error)
{
    if (safeguard_denied_step(ic) != id)
        return;
    g_clear_error(error);
    write_file_fail_denied(error, path);
}

gboolean write_file_may_write(struct ic *ic, const struct ic_inode *file,
                              const char *path, GError **error)
{
    return grants_check_write(ic, file) == 0 ||
           write_file_fail(error, ERROR_IO_ERROR, path,
                           "a file with a set-user-ID or set-group-ID bit; it "
                           "can be changed on the host only");
}

/* ---- path ---------------------------------------------------------------- */

static gboolean check_path(const char *path, char **parts, GError **error)
{
    if (path[0] == '/')
        return write_file_fail(error, ERROR_PATH_OUTSIDE_ROOT, path,
                               "a path must be relative to the folder");
    for (; *parts; parts++) {
        if (strcmp(*parts, "..") == 0)
            return write_file_fail(error, ERROR_PATH_OUTSIDE_ROOT, path,
                                   "a path must not contain '..'");
        if (!mutate_is_name(*parts))
            return write_file_fail(error, ERROR_INVALID_FIELD, path,
                                   "not a valid path of a file");
        if (log_name_is(*parts))
            return write_file_fail(error, ERROR_IO_ERROR, path,
                                   "undo logs are changed by undo and redo "
                                   "only");
    }
    return TRUE;
}

/* Descend one component. A symlink could escape from the share: -ELOOP. */
static int enter(struct ic *ic, const char *name, struct ic_inode **dir)
{
    struct ic_inode *next;
    int rc = ic_lookup(ic, *dir, name, &next, NULL);
    mode_t type;

    if (rc < 0)
        return rc;
    ic_inode_unref(*dir);
    *dir = next;
    type = ic_inode_type(next);
    if (S_ISLNK(type))
        return -ELOOP;
    return S_ISDIR(type) ? 0 : -ENOTDIR;
}

static gboolean fail_folder(GError **error, const char *path, int rc)
{
    return rc == -ELOOP ? write_file_fail(error, ERROR_PATH_OUTSIDE_ROOT, path,
                                          "leads through a symbolic link")
                        : write_file_fail_errno(error, path, rc);
}

static gboolean find_file(struct ic *ic, const char *path,
                          struct write_file_target *target, GError **error)
{
    int rc = ic_lookup(ic, target->dir, target->name, &target->file, NULL);
    mode_t type;

    if (rc == -ENOENT)
        return TRUE;
    if (rc < 0)
        return write_file_fail_errno(error, path, rc);
    type = ic_inode_type(target->file);
    if (S_ISLNK(type))
        return write_file_fail(error, ERROR_PATH_OUTSIDE_ROOT, path,
                               "is a symbolic link");
    return S_ISREG(type) || write_file_fail(error, ERROR_INVALID_FIELD, path,
                                            "not a regular file");
}

/* Keep the names of the folders to make: all parts but the last. Programs
 * cannot use a path of PATH_MAX bytes. */
static gboolean note_missing(struct write_file_target *target, char **parts,
                             const char *path, GError **error)
{
    if (strlen(path) >= PATH_MAX)
        return write_file_fail_errno(error, path, -ENAMETOOLONG);
    target->missing = g_strdupv(parts);
    g_clear_pointer(&target->missing[g_strv_length(parts) - 1], g_free);
    return TRUE;
}

static gboolean find_folder(struct ic *ic, const char *path, char **parts,
                            bool make, struct write_file_target *target,
                            GError **error)
{
    for (; parts[1]; parts++) {
        int rc = enter(ic, parts[0], &target->dir);

        if (rc == -ENOENT && make)
            return note_missing(target, parts, path, error);
        if (rc < 0)
            return fail_folder(error, path, rc);
    }
    return TRUE;
}

gboolean write_file_find(struct ic *ic, const char *path, bool make_parents,
                         struct write_file_target *target, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    guint count = g_strv_length(parts);

    if (count == 0)
        return write_file_fail(error, ERROR_INVALID_FIELD, path,
                               "the path is empty");
    if (!check_path(path, parts, error))
        return FALSE;
    target->dir = ic_inode_ref(ic_root(ic));
    target->name = g_strdup(parts[count - 1]);
    return find_folder(ic, path, parts, make_parents, target, error) &&
           (target->missing || find_file(ic, path, target, error));
}

/* ---- writing ------------------------------------------------------------- */

/* A new name belongs to the folder's owner: a user's project must not get files
 * owned by root. */
static int owner_of(struct ic *ic, struct ic_inode *dir,
                    struct ic_cred *ret_cred)
{
    struct stat st;
    int rc = ic_stat(ic, dir, &st);

    if (rc == 0)
        *ret_cred = (struct ic_cred){ .uid = st.st_uid, .gid = st.st_gid };
    return rc;
}

static int make_file(struct ic *ic, struct write_file_target *target,
                     const struct ic_file_write *request, int *ret_fd)
{
    struct ic_cred cred;
    int rc = owner_of(ic, target->dir, &cred);

    return rc < 0 ? rc
                  : ic_create(ic, &cred, target->dir, target->name,
                              O_WRONLY | O_EXCL,
                              request->set_mode ? request->mode : DEFAULT_MODE,
                              &target->file, NULL, ret_fd);
}

/* Make a folder and enter it; or enter what a client has put there in the
 * meantime, if it is a folder. */
static int make_folder(struct ic *ic, const char *name, struct ic_inode **dir)
{
    int rc = -ENOENT;

    for (int i = 0; i < MAX_ATTEMPTS && rc == -ENOENT; i++) {
        struct ic_inode *made = NULL;
        struct ic_cred cred;

        rc = owner_of(ic, *dir, &cred);
        if (rc == 0)
            rc = ic_mkdirat(ic, &cred, *dir, name, DEFAULT_FOLDER_MODE, &made,
                            NULL);
        if (rc == 0) {
            ic_inode_unref(*dir);
            *dir = made;
        } else if (rc == -EEXIST) {
            rc = enter(ic, name, dir);
        } else {
            break;
        }
    }
    return rc;
}

static gboolean make_parents(struct ic *ic, struct write_file_target *target,
                             const char *path, GError **error)
{
    int rc = 0;

    for (char **name = target->missing; *name && rc == 0; name++)
        rc = make_folder(ic, *name, &target->dir);
    if (rc < 0)
        return fail_folder(error, path, rc);
    /* A client may have put a file into a folder at once. */
    return find_file(ic, path, target, error);
}

static int open_file(struct ic *ic, struct write_file_target *target,
                     const struct ic_file_write *request, int *ret_fd)
{
    struct ic_setattr attr = { .valid = IC_SET_MODE, .mode = request->mode };
    int rc;

    if (!target->file)
        return make_file(ic, target, request, ret_fd);
    rc = ic_open(ic, target->file, O_WRONLY | O_TRUNC, ret_fd);
    if (rc == 0 && request->set_mode)
        rc = ic_setattr(ic, target->file, -1, &attr, NULL);
    return rc;
}

static int write_all(struct ic *ic, struct ic_inode *file, int fd,
                     const char *data, size_t len)
{
    off_t offset = 0;

    while (len > 0) {
        struct iovec iov = { (void *)data, MIN(len, (size_t)1 << 30) };
        ssize_t n = ic_pwritev(ic, file, fd, &iov, 1, offset, 0, false);

        if (n <= 0)
            return n < 0 ? (int)n : -EIO;
        data += n;
        len -= (size_t)n;
        offset += n;
    }
    return 0;
}

static gboolean write_target(struct ic *ic, struct write_file_target *target,
                             const struct ic_file_write *request,
                             GError **error)
{
    fd_auto int fd = -1;
    int rc;

    if (target->missing && !make_parents(ic, target, request->path, error))
        return FALSE;
    rc = open_file(ic, target, request, &fd);
    if (rc == 0)
        rc = write_all(ic, target->file, fd, request->data, request->len);
    return rc == 0 || write_file_fail_errno(error, request->path, rc);
}

/* ---- the step ------------------------------------------------------------ */

/* Without an undo log there is only the write. */
static gboolean run_plain(struct ic *ic, const struct ic_file_write *request,
                          struct write_file_target *target,
                          struct ic_step_info **ret_info, GError **error)
{
    g_autoptr(step_auto) step = step_new(MAX(request->step_id, 0), 0,
                                         IC_STEP_API, NULL, ic->root->ino);

    if (!write_target(ic, target, request, error))
        return FALSE;
    if (ret_info) {
        *ret_info = report_from_step(step);
        (*ret_info)->undoable = false;
        (*ret_info)->exit_code = 0;
    }
    return TRUE;
}

/* Changes by a client meanwhile belong to the step, too, and a safeguard may be
 * holding or have denied them: then the write is lost with them. */
static gboolean close_step(struct ic *ic, int64_t id, const char *path,
                           struct ic_step_info **ret_info, GError **error)
{
    struct ic_step_info *info;

    if (!ic_step_close(ic, id, 0, 0, 0, &info, error)) {
        ic_step_abort(ic, id, NULL);
        return FALSE;
    }
    if (info->denied) {
        ic_step_info_free(info);
        return write_file_fail_denied(error, path);
    }
    if (ret_info)
        *ret_info = info;
    else
        ic_step_info_free(info);
    return TRUE;
}

char *write_file_command(const struct ic_file_write *request)
{
    return request->command ? g_strdup(request->command)
                            : g_strdup_printf("write_file %s", request->path);
}

static gboolean run(struct ic *ic, const struct ic_file_write *request,
                    struct write_file_target *target,
                    struct ic_step_info **ret_info, GError **error)
{
    g_autofree char *command = write_file_command(request);
    g_autoptr(GError) cause = NULL;
    int64_t id = request->step_id;

    if (!ic->undo_dir)
        return run_plain(ic, request, target, ret_info, error);
    if (id == 0)
        id = ic_last_step_id(ic) + 1;
    if (!ic_step_open(ic, id, IC_STEP_API, command, error))
        return FALSE;
    if (!write_target(ic, target, request, &cause)) {
        write_file_check_denied(ic, id, request->path, &cause);
        if (ic_step_abort(ic, id, error))
            g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    return close_step(ic, id, request->path, ret_info, error);
}

/* A client's kernel may remember that the topmost new folder did not exist. */
static void tell_clients(struct ic *ic, const char *path,
                         const struct write_file_target *target)
{
    if (target->missing) {
        g_autofree char *below = g_strjoinv("/", target->missing);
        size_t len = strlen(path) - strlen(target->name) - strlen(below) +
                     strlen(target->missing[0]) - 1;
        g_autofree char *top = g_strndup(path, len);

        stale_tell_path(ic, top);
    }
    stale_tell_path(ic, path);
}

gboolean ic_write_file(struct ic *ic, const struct ic_file_write *request,
                       struct ic_step_info **ret_info, GError **error)
{
    struct write_file_target target = { 0 };
    gboolean ok;
    bool waited;

    if (request->set_mode && request->mode > 07777)
        return write_file_fail(error, ERROR_INVALID_FIELD, request->path,
                               "a mode must be a number from 0 to 07777");
    if (ic->read_only)
        return write_file_fail_errno(error, request->path, -EROFS);
    if (request->set_mode && grants_check_mode(ic, S_IFREG | request->mode) < 0)
        return write_file_fail(error, ERROR_INVALID_FIELD, request->path,
                               "set-user-ID and set-group-ID bits are refused; "
                               "start the file server with --allow-suid");
    waited = parking_thread_waits(true);
    ok = write_file_find(ic, request->path, request->make_parents, &target,
                         error) &&
         (!target.file ||
          write_file_may_write(ic, target.file, request->path, error)) &&
         run(ic, request, &target, ret_info, error);
    if (ok)
        tell_clients(ic, request->path, &target);
    parking_thread_waits(waited);
    write_file_target_clear(&target);
    return ok;
}
