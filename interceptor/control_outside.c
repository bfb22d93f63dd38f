/* SPDX-License-Identifier: Apache-2.0
 *
 * control_outside - see control_outside.h.
 */
#include "interceptor/control_outside.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/message.h"
#include "interceptor/barriers.h"
#include "interceptor/engine.h"
#include "interceptor/parking.h"
#include "interceptor/report.h"

enum {
    MAX_STEPS = 1000000,
    EVENT_MAX = 1 << 20, /* bytes of an event's reports */
    CHUNK = 64 << 10,
};

static json_t *texts_to_json(GPtrArray *texts)
{
    json_t *list = json_array();

    for (guint i = 0; i < texts->len; i++) {
        g_autofree char *valid = g_utf8_make_valid(g_ptr_array_index(texts, i),
                                                   -1);

        json_array_append_new(list, json_string(valid));
    }
    return list;
}

/* ic_rollback_steps(), ic_redo() or ic_preview(). */
typedef gboolean go_back(struct ic *ic, unsigned steps, bool force,
                         struct ic_rollback_result **ret_result,
                         GError **error);

static json_t *carry_out(struct ic *ic, go_back *go, json_t *payload,
                         json_t **ret_data, GError **error)
{
    struct ic_rollback_result *result;
    json_t *answer;
    gboolean force = FALSE, ok;
    gint64 steps = 1;

    if (!message_get_optional_int(payload, "steps", 1, MAX_STEPS, &steps,
                                  error) ||
        !message_get_optional_bool(payload, "force", &force, error))
        return NULL;
    ok = go(ic, (unsigned)steps, force, &result, error);
    answer = json_pack("{s:o, s:o}", "steps",
                       report_list_to_json(result->steps), "barriers",
                       barriers_to_json(result->barriers));
    if (ok) {
        json_object_set_new(answer, "warnings",
                            texts_to_json(result->warnings));
    } else {
        json_object_set_new(answer, "paths", barriers_paths(result->barriers));
        *ret_data = answer;
    }
    ic_rollback_result_free(result);
    return ok ? answer : NULL;
}

json_t *control_outside_rollback(struct ic *ic, json_t *payload,
                                 json_t **ret_data, GError **error)
{
    return carry_out(ic, ic_rollback_steps, payload, ret_data, error);
}

json_t *control_outside_redo(struct ic *ic, json_t *payload, json_t **ret_data,
                             GError **error)
{
    return carry_out(ic, ic_redo, payload, ret_data, error);
}

json_t *control_outside_preview(struct ic *ic, json_t *payload,
                                json_t **ret_data, GError **error)
{
    return carry_out(ic, ic_preview, payload, ret_data, error);
}

/* ---- telling the others ---------------------------------------------------
 */

static json_t *without_details(json_t *report)
{
    json_t *brief = json_copy(report);

    json_object_del(brief, "command");
    json_object_set_new(brief, "changes", json_array());
    json_object_set_new(brief, "affected_paths", json_array());
    json_object_set_new(brief, "truncated", json_true());
    return brief;
}

/* False, and nothing is taken (report is), if there is no room for it. */
static bool add_report(json_t *list, json_t *report, size_t *room)
{
    size_t size = json_dumpb(report, NULL, 0, JSON_COMPACT) + 1;

    if (size > *room) {
        json_decref(report);
        return false;
    }
    *room -= size;
    json_array_append_new(list, report);
    return true;
}

/* Each client's queue has to hold it, and there may be a million steps with a
 * thousand changes each. False if these are not all. */
static bool add_some(json_t *list, json_t *reports)
{
    size_t room = EVENT_MAX, i;
    json_t *report;

    json_array_foreach(reports, i, report)
    {
        if (!add_report(list, json_incref(report), &room) &&
            !add_report(list, without_details(report), &room))
            return false;
    }
    return true;
}

json_t *control_outside_history_event(json_t *request, json_t *answer)
{
    const char *type = json_string_value(json_object_get(request, "type"));
    json_t *payload = json_object_get(answer, "payload"), *steps, *event;
    bool forgets = g_strcmp0(type, "discard") == 0;

    if (!forgets && g_strcmp0(type, "rollback") != 0 &&
        g_strcmp0(type, "redo") != 0)
        return NULL;
    /* One that failed may have done a part. */
    steps = json_object_get(payload ? payload : message_error_data(answer),
                            "steps");
    if (json_array_size(steps) == 0 && !(forgets && payload))
        return NULL;
    event = json_pack("{s:s, s:[]}", "operation", type, "steps");
    if (!add_some(json_object_get(event, "steps"), steps))
        json_object_set_new(event, "truncated", json_true());
    return message_event("event.history_changed", event);
}

/* ---- a file that is known -------------------------------------------------
 */

struct replacement {
    struct ic *ic;
    const struct ic_file_write *request;
    gint64 size;
    const char *sha256;
    struct ic_inode *file; /* a reference, or NULL */
    int fd;                /* of it, or -1 */
    bool touched;          /* by us, in the step */
};

static gboolean refuse(const struct replacement *r, int code, const char *what,
                       GError **error)
{
    g_autofree char *shown = g_utf8_make_valid(r->request->path, -1);

    g_set_error(error, STEPBACK_ERROR, code, "%s: %s", shown, what);
    return FALSE;
}

static gboolean refuse_errno(const struct replacement *r, int rc,
                             GError **error)
{
    static const struct {
        int number, code;
    } codes[] = {
        { ENOENT, ERROR_NOT_FOUND },
        { ENOTDIR, ERROR_NOT_FOUND },
        { EROFS, ERROR_READ_ONLY_DIRECTORY },
        { EFBIG, ERROR_TOO_LARGE },
        { EINVAL, ERROR_INVALID_FIELD },
        { ENAMETOOLONG, ERROR_INVALID_FIELD },
        { EPERM, ERROR_DENIED }, /* a safeguard's decision */
    };

    if (rc == -EXDEV)
        return refuse(r, ERROR_PATH_OUTSIDE_ROOT,
                      "a path is relative to the folder, and leads through no "
                      ".. and no symbolic link",
                      error);
    for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
        if (codes[i].number == -rc)
            return refuse(r, codes[i].code, g_strerror(-rc), error);
    }
    return refuse(r, ERROR_IO_ERROR, g_strerror(-rc), error);
}

/* Name by name: a client could have made anything of the path. */
static int find_file(struct ic *ic, const char *path,
                     struct ic_inode **ret_file)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    struct ic_inode *at = ic_inode_ref(ic_root(ic)), *next;
    int rc = path[0] == '/' ? -EXDEV : 0;

    for (char **part = parts; rc == 0 && *part; part++) {
        rc = strcmp(*part, "..") == 0 ? -EXDEV
                                      : ic_lookup(ic, at, *part, &next, NULL);
        if (rc < 0)
            break;
        ic_inode_unref(at);
        at = next;
        if (S_ISLNK(ic_inode_type(at)))
            rc = -EXDEV;
    }
    if (rc == 0 && !S_ISREG(ic_inode_type(at)))
        rc = -EINVAL;
    if (rc < 0)
        ic_inode_unref(at);
    else
        *ret_file = at;
    return rc;
}

/* 1 if the file holds what is to be replaced, 0 if not. */
static int is_known(const struct replacement *r)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree guchar *buffer = g_malloc(CHUNK);
    gint64 at = 0;
    ssize_t n;

    while ((n = pread(r->fd, buffer, CHUNK, at)) > 0 && at <= r->size) {
        g_checksum_update(sum, buffer, n);
        at += n;
    }
    if (n < 0)
        return -errno;
    return at == r->size &&
           g_ascii_strcasecmp(g_checksum_get_string(sum), r->sha256) == 0;
}

/* Open it: 1, or 0 if it holds something else. */
static int find_known(struct replacement *r)
{
    int rc = find_file(r->ic, r->request->path, &r->file);

    if (rc == 0)
        rc = ic_open(r->ic, r->file, O_RDWR, &r->fd);
    return rc < 0 ? rc : is_known(r);
}

/* What takes time, or waits for a person, comes before the last look: to have
 * the content kept, which a write would destroy. There is no call for that
 * alone. But this one keeps it, and then fails: a file is no folder. */
static int keep_content(const struct replacement *r)
{
    fd_auto int fd = -1;
    int rc = ic_open(r->ic, r->file, O_WRONLY | O_TRUNC | O_DIRECTORY, &fd);

    return rc == -ENOTDIR ? 0 : rc;
}

/* Not truncated first: what others append must not get below it. */
static int overwrite(const struct replacement *r)
{
    const char *data = r->request->data;
    struct ic_setattr attr = { .size = (off_t)r->request->len,
                               .mode = r->request->mode };
    size_t done = 0;

    while (done < r->request->len) {
        struct iovec iov = { (void *)(data + done), r->request->len - done };
        ssize_t n = ic_pwritev(r->ic, r->file, r->fd, &iov, 1, (off_t)done, 0,
                               false);

        if (n <= 0)
            return n < 0 ? (int)n : -EIO;
        done += (size_t)n;
    }
    if (attr.size < r->size)
        attr.valid |= IC_SET_SIZE;
    if (r->request->set_mode)
        attr.valid |= IC_SET_MODE;
    return attr.valid ? ic_setattr(r->ic, r->file, r->fd, &attr, NULL) : 0;
}

/* Editors put a new file in place of one that they save. */
static bool is_in_place(const struct replacement *r)
{
    struct ic_inode *now = NULL;
    bool same = find_file(r->ic, r->request->path, &now) == 0 && now == r->file;

    ic_inode_unref(now);
    return same;
}

/* 1; or 0 if it has changed. */
static int replace_known(struct replacement *r)
{
    int rc = find_known(r);

    if (rc <= 0)
        return rc;
    r->touched = true;
    rc = keep_content(r);
    if (rc == 0)
        rc = is_known(r);
    if (rc <= 0)
        return rc;
    rc = overwrite(r);
    return rc < 0 ? rc : is_in_place(r);
}

static gboolean check(const struct replacement *r, int rc, GError **error)
{
    if (rc < 0)
        return refuse_errno(r, rc, error);
    return rc > 0 ||
           refuse(r, ERROR_IO_ERROR,
                  "it has changed since it was read, and is left alone; read "
                  "it again",
                  error);
}

/* What others change at this moment belongs to the step, too. So if nothing of
 * our own is in it, it is closed, and not taken back. */
static gboolean replace_in_step(struct replacement *r, int64_t id,
                                struct ic_step_info **ret_info, GError **error)
{
    struct ic_step_info *info = NULL;
    int rc = replace_known(r);
    gboolean ok = check(r, rc, error);

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
        ok = refuse_errno(r, -EPERM, error);
    if (ok)
        *ret_info = g_steal_pointer(&info);
    ic_step_info_free(info);
    return ok;
}

static gboolean replace(struct replacement *r, struct ic_step_info **ret_info,
                        GError **error)
{
    g_autofree char *command = g_strdup_printf("write_file %s",
                                               r->request->path);
    int64_t id = r->request->step_id;

    /* Without a log there are no steps. */
    if (!r->ic->undo_dir)
        return check(r, find_known(r), error) &&
               ic_write_file(r->ic, r->request, ret_info, error);
    if (r->ic->read_only)
        return refuse_errno(r, -EROFS, error);
    if (id == 0)
        id = ic_last_step_id(r->ic) + 1;
    return ic_step_open(r->ic, id, IC_STEP_API, command, error) &&
           replace_in_step(r, id, ret_info, error);
}

gboolean control_outside_replace(struct ic *ic,
                                 const struct ic_file_write *request,
                                 json_t *replaces,
                                 struct ic_step_info **ret_info, GError **error)
{
    struct replacement r = { .ic = ic, .request = request, .fd = -1 };
    gboolean ok;
    bool waited;

    if (!message_get_int(replaces, "size", 0, G_MAXINT64, &r.size, error) ||
        !message_get_string(replaces, "sha256", &r.sha256, error))
        return FALSE;
    waited = parking_thread_waits(true);
    ok = replace(&r, ret_info, error);
    parking_thread_waits(waited);
    fd_close(&r.fd);
    ic_inode_unref(r.file);
    return ok;
}

/* ---- the rest -------------------------------------------------------------
 */

gboolean control_outside_configure(struct ic *ic, json_t *payload,
                                   GError **error)
{
    const char *name = NULL;
    enum ic_outside_policy policy;

    if (!message_get_optional_string(payload, "external_modification_policy",
                                     &name, error))
        return FALSE;
    return !name || (ic_outside_policy_parse(name, &policy, error) &&
                     ic_set_outside_policy(ic, policy, error));
}

json_t *control_outside_barriers(struct ic *ic)
{
    g_autoptr(GPtrArray) barriers = ic_barriers(ic);

    return barriers_to_json(barriers);
}
