/* SPDX-License-Identifier: Apache-2.0
 *
 * replace_file - see replace_file.h.
 */
#include "interceptor/mutate/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/engine/engine.h"
#include "interceptor/engine/parking.h"
#include "interceptor/engine/stale.h"
#include "interceptor/mutate/write_file.h"

enum { CHUNK = 64 << 10 };

struct replacement {
    struct ic *ic;
    const struct ic_file_write *request;
    const struct replaced_content *known;
    struct write_file_target target;
    int fd;       /* of the target file, or -1 */
    bool touched; /* by this process, in the step */
};

/* ---- checks -------------------------------------------------------------- */

/* Return 1 if the file has the content to be replaced, 0 if not, or -errno. */
static int is_known(const struct replacement *r)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree guchar *buffer = g_malloc(CHUNK);
    gint64 at = 0;
    ssize_t n;

    while ((n = pread(r->fd, buffer, CHUNK, at)) > 0 && at <= r->known->size) {
        g_checksum_update(sum, buffer, n);
        at += n;
    }
    if (n < 0)
        return -errno;
    return at == r->known->size &&
           g_ascii_strcasecmp(g_checksum_get_string(sum), r->known->sha256) ==
               0;
}

/* Open the file and check it: 1, 0 or -errno as above. */
static int open_known(struct replacement *r)
{
    int rc = ic_open(r->ic, r->target.file, O_RDWR, &r->fd);

    return rc < 0 ? rc : is_known(r);
}

/* Editors replace a file that they save by a new one. */
static bool is_in_place(const struct replacement *r)
{
    struct write_file_target now = { 0 };
    bool same = write_file_find(r->ic, r->request->path, false, &now, NULL) &&
                now.file == r->target.file;

    write_file_target_clear(&now);
    return same;
}

/* ---- writing ------------------------------------------------------------- */

/* Save the content before the last check, since that may take time or wait for
 * a user's decision. No call does only that; this one saves it and then fails,
 * because a file is not a folder. */
static int keep_content(const struct replacement *r)
{
    fd_auto int fd = -1;
    int rc = ic_open(r->ic, r->target.file, O_WRONLY | O_TRUNC | O_DIRECTORY,
                     &fd);

    return rc == -ENOTDIR ? 0 : rc;
}

/* No truncation first: it would move the end below bytes that another process
 * appends. */
static int overwrite(const struct replacement *r)
{
    const char *data = r->request->data;
    struct ic_setattr attr = { .size = (off_t)r->request->len,
                               .mode = r->request->mode };
    size_t done = 0;

    while (done < r->request->len) {
        struct iovec iov = { (void *)(data + done), r->request->len - done };
        ssize_t n = ic_pwritev(r->ic, r->target.file, r->fd, &iov, 1,
                               (off_t)done, 0, false);

        if (n <= 0)
            return n < 0 ? (int)n : -EIO;
        done += (size_t)n;
    }
    if (attr.size < r->known->size)
        attr.valid |= IC_SET_SIZE;
    if (r->request->set_mode)
        attr.valid |= IC_SET_MODE;
    return attr.valid ? ic_setattr(r->ic, r->target.file, r->fd, &attr, NULL)
                      : 0;
}

/* Return 1, 0 if the file has changed, or -errno. */
static int replace_known(struct replacement *r)
{
    int rc = open_known(r);

    if (rc <= 0)
        return rc;
    r->touched = true;
    rc = keep_content(r);
    if (rc == 0)
        rc = is_in_place(r) ? is_known(r) : 0;
    if (rc <= 0)
        return rc;
    rc = overwrite(r);
    return rc < 0 ? rc : is_in_place(r);
}

/* ---- the step ------------------------------------------------------------ */

static gboolean check(const struct replacement *r, int rc, GError **error)
{
    if (rc < 0)
        return write_file_fail_errno(error, r->request->path, rc);
    return rc > 0 ||
           write_file_fail(
               error, ERROR_IO_ERROR, r->request->path,
               "changed since it was read, left alone; read it again");
}

/* Changes by other clients at this moment belong to the step, too. So if the
 * step has no change of this request, it is closed and not rolled back. */
static gboolean replace_in_step(struct replacement *r, int64_t id,
                                struct ic_step_info **ret_info, GError **error)
{
    struct ic_step_info *info = NULL;
    int rc = replace_known(r);
    gboolean ok = check(r, rc, error);

    if (!ok)
        write_file_check_denied(r->ic, id, r->request->path, error);
    if (rc < 0 && r->touched) {
        ic_step_abort(r->ic, id, NULL);
        return FALSE;
    }
    if (!ic_step_close(r->ic, id, ok ? 0 : -1, 0, 0, &info,
                       ok ? error : NULL)) {
        ic_step_abort(r->ic, id, NULL);
        return FALSE;
    }
    if (ok && info->denied)
        ok = write_file_fail_denied(error, r->request->path);
    if (ok)
        *ret_info = g_steal_pointer(&info);
    ic_step_info_free(info);
    return ok;
}

static gboolean replace(struct replacement *r, struct ic_step_info **ret_info,
                        GError **error)
{
    g_autofree char *command = write_file_command(r->request);
    int64_t id = r->request->step_id;

    if (!r->target.file)
        return write_file_fail_errno(error, r->request->path, -ENOENT);
    /* Without a log there are no steps. */
    if (!r->ic->undo_dir)
        return check(r, open_known(r), error) &&
               ic_write_file(r->ic, r->request, ret_info, error);
    if (r->ic->read_only)
        return write_file_fail_errno(error, r->request->path, -EROFS);
    if (!write_file_may_write(r->ic, r->target.file, r->request->path, error))
        return FALSE;
    if (id == 0)
        id = ic_last_step_id(r->ic) + 1;
    return ic_step_open(r->ic, id, IC_STEP_API, command, error) &&
           replace_in_step(r, id, ret_info, error);
}

gboolean replace_file(struct ic *ic, const struct ic_file_write *request,
                      const struct replaced_content *known,
                      struct ic_step_info **ret_info, GError **error)
{
    struct replacement r = {
        .ic = ic, .request = request, .known = known, .fd = -1
    };
    bool waited = parking_thread_waits(true);
    gboolean ok = write_file_find(ic, request->path, false, &r.target, error) &&
                  replace(&r, ret_info, error);

    if (ok)
        stale_tell_path(ic, request->path);
    parking_thread_waits(waited);
    fd_close(&r.fd);
    write_file_target_clear(&r.target);
    return ok;
}
