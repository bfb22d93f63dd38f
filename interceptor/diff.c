/* SPDX-License-Identifier: Apache-2.0
 *
 * diff - what a step changed, as it was before and after (ic_diff()).
 */
#include <errno.h>
#include <string.h>

#include "common/errors.h"
#include "interceptor/past_content.h"
#include "interceptor/report.h"
#include "interceptor/rollback.h"
#include "interceptor/steps.h"
#include "interceptor/sys.h"

/* An answer, with all its bytes in base64, must fit a line of the control
 * protocol. */
enum {
    MAX_FILE = 2 << 20,
    MAX_PART = 4 << 20, /* a part ends at the file with which it is more */
    MAX_BYTES = MAX_PART + 2 * MAX_FILE,
    MAX_FILES = 200,
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
    GArray *wants;    /* of struct wish: whose version a file is */
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

static void want(struct differ *d, struct past_node *node, unsigned level,
                 bool mode_only, struct ic_version *version)
{
    struct wish wish = { version, past_file_new(node, level) };

    wish.file->mode_only = mode_only;
    g_ptr_array_add(d->files, wish.file);
    g_array_append_val(d->wants, wish);
}

/* A version that cannot be found is left out, and nothing else is. */
static void want_path(struct differ *d, const char *path, unsigned level,
                      bool mode_only, struct ic_version *version)
{
    struct past_node node;
    int rc = past_resolve(&d->past, path, level, &node);

    if (rc < 0)
        version->left_out = true;
    else
        want(d, &node, level, mode_only, version);
}

/* What was at this path, which was another before if a folder above it was
 * renamed. A file of several names that got this one in the step had others. */
static int resolve_changed(struct differ *d, const char *path,
                           struct past_node *ret_node)
{
    int rc = past_resolve_in(&d->past, path, 1, 0, ret_node);

    return rc == -ENOENT ? past_resolve(&d->past, path, 1, ret_node) : rc;
}

static void want_before(struct differ *d, const struct ic_file_diff *diff,
                        bool mode_only, struct ic_version *version)
{
    bool changed = diff->type == IC_MODIFIED || diff->type == IC_METADATA;
    struct past_node node;
    int rc = changed
                 ? resolve_changed(d, diff->path, &node)
                 : past_resolve(&d->past, diff->from ? diff->from : diff->path,
                                0, &node);

    if (rc < 0)
        version->left_out = true;
    else
        want(d, &node, 0, mode_only, version);
}

static void add_file(struct differ *d, enum ic_change_type type,
                     const char *path, const char *from)
{
    struct ic_file_diff *diff = g_new0(struct ic_file_diff, 1);
    bool mode_only = type == IC_METADATA;

    diff->type = type;
    diff->path = g_strdup(path);
    diff->from = g_strdup(from);
    g_ptr_array_add(d->diffs, diff);
    if (type != IC_CREATED)
        want_before(d, diff, mode_only, &diff->before);
    if (type != IC_DELETED)
        want_path(d, path, 1, mode_only, &diff->after);
}

/* ---- renames over, and away from, what is there -------------------------- */

/* The number of what was there, if there was something other than a folder;
 * else 0. */
static uint64_t find_file(struct differ *d, const char *path, unsigned level)
{
    struct past_node node;
    struct stat st;
    mode_t mode = 0;

    if (past_resolve(&d->past, path, level, &node) < 0)
        return 0;
    if (node.fd >= 0 && sys_stat_fd(node.fd, &st) == 0)
        mode = st.st_mode;
    else if (node.gone && node.gone->meta)
        mode = node.gone->meta->mode;
    past_node_clear(&node);
    return mode && !S_ISDIR(mode) ? node.ino : 0;
}

/* Was the folder that holds it always the one with this path? */
static bool is_folder_the_same(struct differ *d, const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    struct past_node before, after;
    bool same = false;

    if (strcmp(folder, ".") == 0)
        return true;
    if (past_resolve(&d->past, folder, 0, &before) < 0)
        return false;
    if (past_resolve(&d->past, folder, 1, &after) == 0) {
        same = before.ino == after.ino;
        past_node_clear(&after);
    }
    past_node_clear(&before);
    return same;
}

/* Something was there before, and something is after. */
static bool is_overwritten(struct differ *d, const char *path)
{
    return find_file(d, path, 0) && find_file(d, path, 1) &&
           is_folder_the_same(d, path);
}

/* A path is told but once: as no patch can take a file away from where another
 * is put. So what is renamed over another is told as git does, name by name. */
static void add_renamed(struct differ *d, const struct ic_change *change)
{
    bool over = is_overwritten(d, change->path);
    bool again = is_overwritten(d, change->from);

    if (!over && !again) {
        add_file(d, IC_RENAMED, change->path, change->from);
        return;
    }
    add_file(d, over ? IC_MODIFIED : IC_CREATED, change->path, NULL);
    if (!again) /* else what is there now tells it */
        add_file(d, IC_DELETED, change->from, NULL);
}

static void add(struct differ *d, const struct ic_change *change)
{
    if (change->type == IC_RENAMED && change->from)
        add_renamed(d, change);
    else if (change->type == IC_CREATED && is_overwritten(d, change->path))
        add_file(d, IC_MODIFIED, change->path, NULL);
    else
        add_file(d, change->type, change->path, change->from);
}

/* A file that was renamed and changed, or over another, is in the report twice,
 * next to each other; told once, with both contents, is enough. */
static bool is_told(struct differ *d, const GPtrArray *changes, guint i)
{
    const struct ic_change *change = g_ptr_array_index(changes, i);

    if (change->type == IC_CREATED || change->type == IC_RENAMED)
        return false;
    for (guint j = i ? i - 1 : 0; j < changes->len && j <= i + 2; j++) {
        const struct ic_change *other = g_ptr_array_index(changes, j);

        if (j != i && other->type == IC_RENAMED &&
            strcmp(change->path, other->path) == 0)
            return change->type != IC_DELETED ||
                   is_overwritten(d, change->path);
    }
    return false;
}

static int64_t estimate(const struct ic_change *change)
{
    int64_t before = CLAMP(change->size_before, 0, MAX_FILE);
    int64_t after = CLAMP(change->size_after, 0, MAX_FILE);

    return change->type == IC_METADATA ? 0 : before + after;
}

/* The changes from first on, as many as fit. */
static void add_part(struct differ *d, const GPtrArray *changes, unsigned first,
                     unsigned *ret_next)
{
    int64_t bytes = 0;
    unsigned i = first;

    for (; i < changes->len && bytes < MAX_PART && d->diffs->len < MAX_FILES;
         i++) {
        const struct ic_change *change = g_ptr_array_index(changes, i);

        if (is_told(d, changes, i))
            continue;
        bytes += estimate(change);
        add(d, change);
    }
    *ret_next = i < changes->len ? i : 0;
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

static gboolean diff_locked(struct ic *ic, struct differ *d, int64_t id,
                            unsigned first, unsigned *ret_next, GError **error)
{
    struct ic_step_info *info;
    int rc;

    if (!steps_check_none(ic, error) ||
        !steps_close_ambient_locked(ic, error) ||
        !steps_check_finished(ic, error) || !past_open(ic, id, &d->past, error))
        return FALSE;
    info = report_from_step(g_ptr_array_index(d->past.steps, 0));
    add_part(d, info->changes, first, ret_next);
    ic_step_info_free(info);
    rc = past_content_read(&d->past, d->files, MAX_FILE, MAX_BYTES);
    if (rc < 0)
        return steps_fail(error,
                          rc == -EBADMSG  ? ERROR_PREIMAGE_CORRUPT
                          : rc == -ENOENT ? ERROR_PREIMAGE_MISSING
                                          : ERROR_IO_ERROR,
                          "the content that the undo log has kept", rc);
    take_versions(d);
    return TRUE;
}

gboolean ic_diff(struct ic *ic, int64_t id, unsigned first,
                 GPtrArray **ret_diffs, unsigned *ret_next, GError **error)
{
    struct differ d;
    unsigned next = 0;
    gboolean ok;

    differ_init(&d);
    rollback_lock_gate(ic);
    ok = steps_check_log(ic, error) &&
         diff_locked(ic, &d, id, first, &next, error);
    rollback_unlock_gate(ic);
    if (ok) {
        *ret_diffs = g_ptr_array_ref(d.diffs);
        *ret_next = next;
    }
    differ_clear(&d);
    return ok;
}
