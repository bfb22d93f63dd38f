/* SPDX-License-Identifier: Apache-2.0
 *
 * diff - show what a step changed, before and after (ic_diff()).
 */
#include <errno.h>
#include <string.h>

#include "common/errors.h"
#include "interceptor/engine/ambient.h"
#include "interceptor/engine/rollback.h"
#include "interceptor/engine/rollback_gate.h"
#include "interceptor/engine/steps.h"
#include "interceptor/engine/steps_check.h"
#include "interceptor/past/diff_partial.h"
#include "interceptor/past/diff_paths.h"
#include "interceptor/past/past_content.h"
#include "interceptor/report/report.h"
#include "interceptor/sys/fail.h"
#include "interceptor/sys/sys.h"

/* A reply, with all content in base64, must fit a line of the control protocol.
 */
enum {
    MAX_FILE = 2 << 20,
    MAX_PART = 4 << 20, /* the file that exceeds this ends a part */
    MAX_BYTES = MAX_PART + 2 * MAX_FILE,
    MAX_FILES = 400,   /* each has an fd open meanwhile */
    ENTRY_BYTES = 256, /* of an entry's JSON, besides its path and content */
};

static void version_clear(struct ic_version *version)
{
    g_free(version->data);
}

static void file_diff_free(gpointer data)
{
    struct ic_file_diff *diff = data;

    version_clear(&diff->before);
    version_clear(&diff->after);
    g_free(diff->path);
    g_free(diff->from);
    g_free(diff);
}

struct differ {
    struct past past;
    GPtrArray *files; /* owned past_file */
    GPtrArray *diffs; /* owned ic_file_diff */
    GArray *wants;    /* of struct wish: the version that a file is read for */
    int64_t bytes;    /* approximate size of the reply */
    bool partial;     /* the step is unprotected (diff_partial.h) */
};

struct wish {
    struct ic_version *version;
    struct past_file *file;
};

static void free_file(gpointer file)
{
    past_file_free(file);
}

static void differ_init(struct differ *d)
{
    d->past.steps = NULL;
    d->bytes = 0;
    d->partial = false;
    d->files = g_ptr_array_new_with_free_func(free_file);
    d->diffs = g_ptr_array_new_with_free_func(file_diff_free);
    d->wants = g_array_new(FALSE, FALSE, sizeof(struct wish));
}

static void differ_clear(struct differ *d)
{
    g_array_unref(d->wants);
    g_ptr_array_unref(d->files);
    g_ptr_array_unref(d->diffs);
    past_clear(&d->past);
}

/* node: taken. */
static void want_node(struct differ *d, struct past_node *node, unsigned level,
                      bool mode_only, struct ic_version *version)
{
    struct wish wish = { .version = version };
    int64_t size;

    if (past_stat(&d->past, node, level, &version->mode, &size) < 0)
        version->left_out = true;
    if (mode_only || version->left_out) {
        past_node_clear(node);
        return;
    }
    d->bytes += CLAMP(size, 0, MAX_FILE);
    wish.file = past_file_new(node, level);
    g_ptr_array_add(d->files, wish.file);
    g_array_append_val(d->wants, wish);
}

/* Leave out a version that cannot be found, and only that. */
static void want(struct differ *d, const char *path, unsigned level,
                 bool mode_only, struct ic_version *version)
{
    struct past_node node;

    d->bytes += (int64_t)strlen(path);
    if (past_resolve(&d->past, path, level, &node) < 0)
        version->left_out = true;
    else
        want_node(d, &node, level, mode_only, version);
}

static struct ic_file_diff *add_diff(struct differ *d, enum ic_change_type type,
                                     const char *path, const char *from)
{
    struct ic_file_diff *diff = g_new0(struct ic_file_diff, 1);

    diff->type = type;
    diff->path = g_strdup(path);
    diff->from = g_strdup(from);
    g_ptr_array_add(d->diffs, diff);
    d->bytes += ENTRY_BYTES;
    return diff;
}

static void add_file(struct differ *d, const struct diff_path *told)
{
    struct ic_file_diff *diff = add_diff(d, told->type, told->path, told->from);

    if (told->type != IC_CREATED)
        want(d, told->from ? told->from : told->path, 0, told->mode_only,
             &diff->before);
    if (told->type != IC_DELETED)
        want(d, told->path, 1, told->mode_only, &diff->after);
    diff->after.left_out |= told->cut;
}

/* The path may now name a different file. */
static void add_kept(struct differ *d, struct diff_kept *kept)
{
    struct ic_file_diff *diff = add_diff(d, IC_MODIFIED, kept->path, NULL);
    struct past_node then = kept->node, after;
    int64_t size;
    mode_t mode;
    int rc;

    kept->node.fd = -1;
    want_node(d, &then, 0, false, &diff->before);
    rc = past_resolve(&d->past, kept->path, 1, &after);
    if (rc == 0 && past_stat(&d->past, &after, 1, &mode, &size) == 0 &&
        S_ISREG(mode)) {
        want_node(d, &after, 1, false, &diff->after);
        return;
    }
    if (rc == 0)
        past_node_clear(&after);
    if (rc == 0 || rc == -ENOENT)
        diff->type = IC_DELETED;
    else
        diff->after.left_out = true;
}

/* Take as many changes as fit, starting at first. */
static void add_part(struct differ *d, const GPtrArray *paths, unsigned first,
                     unsigned *ret_next)
{
    unsigned i = first;

    while (i < paths->len && d->bytes < MAX_PART && d->files->len < MAX_FILES) {
        gpointer path = g_ptr_array_index(paths, i++);

        if (d->partial)
            add_kept(d, path);
        else
            add_file(d, path);
    }
    *ret_next = i < paths->len ? i : 0;
}

static void take_versions(struct differ *d)
{
    for (guint i = 0; i < d->wants->len; i++) {
        struct wish *wish = &g_array_index(d->wants, struct wish, i);

        wish->version->mode = wish->file->mode;
        wish->version->data = g_steal_pointer(&wish->file->bytes);
        wish->version->len = wish->file->len;
        wish->version->left_out = wish->file->left_out;
    }
}

static gboolean read_failed(int rc, GError **error)
{
    return fail_errno(error,
                      rc == -EBADMSG  ? ERROR_PREIMAGE_CORRUPT
                      : rc == -ENOENT ? ERROR_PREIMAGE_MISSING
                                      : ERROR_IO_ERROR,
                      "content kept in the undo log", rc);
}

static gboolean diff_locked(struct ic *ic, struct differ *d, int64_t id,
                            unsigned first, unsigned *ret_next, size_t *ret_cut,
                            GError **error)
{
    g_autoptr(GPtrArray) paths = NULL;
    const struct step *step;
    struct ic_step_info *info;
    int rc;

    if (!steps_check_none(ic, error) || !ambient_close_locked(ic, error) ||
        !steps_check_finished(ic, error) ||
        !past_open(ic, id, true, &d->past, error))
        return FALSE;
    step = g_ptr_array_index(d->past.steps, 0);
    d->partial = step->unprotected;
    info = report_from_step(step);
    rc = d->partial ? diff_partial_find(&d->past, &paths)
                    : diff_paths_find(&d->past, info->changes, &paths);
    *ret_cut = info->affected - MIN(info->affected, d->partial && paths
                                                        ? paths->len
                                                        : info->changes->len);
    ic_step_info_free(info);
    if (d->partial && rc < 0)
        return read_failed(rc, error);
    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "folder", rc);
    add_part(d, paths, first, ret_next);
    rc = past_content_read(&d->past, d->files, MAX_FILE, MAX_BYTES);
    if (rc < 0)
        return read_failed(rc, error);
    take_versions(d);
    return TRUE;
}

gboolean ic_diff(struct ic *ic, int64_t id, unsigned first,
                 GPtrArray **ret_diffs, unsigned *ret_next, size_t *ret_cut,
                 bool *ret_partial, GError **error)
{
    struct differ d;
    unsigned next = 0;
    size_t cut = 0;
    gboolean ok;

    differ_init(&d);
    rollback_lock_gate(ic);
    ok = core_check_log(ic, error) &&
         diff_locked(ic, &d, id, first, &next, &cut, error);
    rollback_unlock_gate(ic);
    if (ok) {
        *ret_diffs = g_ptr_array_ref(d.diffs);
        *ret_next = next;
        *ret_cut = cut;
        *ret_partial = d.partial;
    }
    differ_clear(&d);
    return ok;
}
