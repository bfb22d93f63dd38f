/* SPDX-License-Identifier: Apache-2.0
 *
 * restore - see restore.h: the order of the parts, and the check.
 */
#include "interceptor/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/restore_content.h"
#include "interceptor/restore_names.h"
#include "interceptor/restore_state.h"
#include "interceptor/survey.h"
#include "interceptor/sys.h"

static gboolean fail(GError **error, int code, const char *what, int rc)
{
    g_set_error(error, STEPBACK_ERROR, code, "undo: %s: %s", what,
                g_strerror(-rc));
    return FALSE;
}

/* ---- check --------------------------------------------------------------- */

/* Every inode that lost a name is in the tree, in the log, or can be made. */
static gboolean check_inodes(const struct restore *r, GError **error)
{
    g_autoptr(survey_auto) survey = NULL;
    GHashTableIter iter;
    gpointer key;
    int rc;

    /* Begun already, after this check: what is put aside, and what is in the
     * directories that are, is not looked at here. */
    if (r->staging >= 0)
        return TRUE;
    rc = survey_make(r->step, r->root, &survey);
    if (rc < 0) {
        /* Something cannot be read, say: attaching will find out. */
        log_debug(LOG_UNDO, "undo: survey: %s", g_strerror(-rc));
        return TRUE;
    }
    g_hash_table_iter_init(&iter, r->step->bindings);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        const struct step_binding *binding = key;
        struct step_inode *before = binding->before;

        if (!before || g_hash_table_contains(survey->inodes, before) ||
            restore_can_find(r, before))
            continue;
        g_autofree char *path = step_path_before(r->step, binding->dir,
                                                 binding->name);
        g_set_error(error, STEPBACK_ERROR, ERROR_PREIMAGE_MISSING,
                    "undo: the log has no copy of '%s'",
                    path ? path : binding->name);
        return FALSE;
    }
    return TRUE;
}

/* ---- staging ------------------------------------------------------------- */

/* Can names be moved between the two? One filesystem is not enough: not
 * between two mounts of it (rename(2), EXDEV). */
static bool is_same_mount(int a, int b)
{
    struct statx x, y;

    if (statx(a, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &x) < 0 ||
        statx(b, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &y) < 0)
        return false;
    return x.stx_dev_major == y.stx_dev_major &&
           x.stx_dev_minor == y.stx_dev_minor &&
           (!(x.stx_mask & y.stx_mask & STATX_MNT_ID) ||
            x.stx_mnt_id == y.stx_mnt_id);
}

/* The manifest of a step that is being taken back can still be added to. */
static int open_journal(struct restore *r)
{
    return r->step->journal
               ? 0
               : journal_open(r->dir, STEP_MANIFEST, &r->step->journal);
}

/* The root's mtime changes when a folder is made in it. */
static int record_root(struct restore *r)
{
    struct meta *meta;
    int rc;

    if (r->step->root->flags & STEP_META)
        return 0;
    rc = meta_read(r->root, &meta);
    return rc < 0 ? rc : step_record_meta(r->step, r->step->root, meta);
}

/* A name that nobody else has: what has it later is ours to remove. */
static int name_staging(struct restore *r)
{
    g_autofree char *unique = g_uuid_string_random();
    g_autofree char *name = g_strdup_printf(".stepback-%s", unique);
    struct stat st;
    int rc = open_journal(r);

    if (rc == 0)
        rc = record_root(r);
    if (rc == 0 && sys_stat_name(r->root, name, &st) == 0)
        rc = -EEXIST;
    return rc < 0 ? rc : step_record_staging(r->step, name);
}

static void find_staging_place(struct restore *r)
{
    r->staging_dir = is_same_mount(r->dir, r->root) ? r->dir : r->root;
    r->staging_name = r->staging_dir == r->dir ? STEP_STAGING
                                               : r->step->staging;
}

/* What an interrupted rollback has put aside already; -1 if there is none. */
static void open_old_staging(struct restore *r)
{
    find_staging_place(r);
    if (r->staging_name)
        r->staging = sys_openat(r->staging_dir, r->staging_name,
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

static int open_staging(struct restore *r)
{
    int rc = 0;

    if (r->staging >= 0)
        return 0;
    if (!r->staging_name)
        rc = name_staging(r);
    find_staging_place(r);
    if (rc == 0)
        rc = sys_mkdirat(r->staging_dir, r->staging_name, 0700);
    if (rc < 0 && rc != -EEXIST)
        return rc;
    r->staging = sys_openat(r->staging_dir, r->staging_name,
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    return r->staging < 0 ? r->staging : 0;
}

/* All names are back: what is left here was created by the step, or is a link
 * too many. It goes before content is put back, which may need its room. */
static int close_staging(struct restore *r)
{
    fd_close(&r->staging);
    return sys_remove_tree(r->staging_dir, r->staging_name);
}

/* ---- all of it ----------------------------------------------------------- */

static gboolean run(struct restore *r, GError **error)
{
    int rc = open_staging(r);

    if (rc < 0)
        return fail(error, ERROR_IO_ERROR, "staging folder", rc);
    rc = restore_detach(r);
    if (rc < 0)
        return fail(error, ERROR_IO_ERROR, "putting aside what is new", rc);
    rc = restore_attach(r);
    if (rc < 0)
        return fail(
            error, ERROR_IO_ERROR,
            r->trouble->len > 0 ? r->trouble->str : "putting names back", rc);
    rc = close_staging(r);
    if (rc == 0)
        rc = restore_content(r);
    if (rc == 0)
        rc = restore_metadata(r);
    if (rc < 0)
        return fail(
            error, ERROR_IO_ERROR,
            r->trouble->len > 0 ? r->trouble->str : "putting content back", rc);
    return TRUE;
}

gboolean restore_step(struct undo_log *log, struct step *step, int dirfd,
                      int root, struct held_links *held, bool damaged_too,
                      GError **error)
{
    struct restore r = {
        .step = step,
        .log = log,
        .held = held,
        .dir = dirfd,
        .root = root,
        .staging = -1,
        .damaged_too = damaged_too,
    };
    gboolean ok = FALSE;

    r.blobs = sys_openat(dirfd, STEP_BLOBS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
                         0);
    if (r.blobs < 0)
        return fail(error, ERROR_PREIMAGE_MISSING, "blobs", r.blobs);
    r.trouble = g_string_new(NULL);
    step_sort(step);
    restore_walker_init(&r.walker, root, step->root);
    open_old_staging(&r);
    ok = restore_check_content(&r, error) && check_inodes(&r, error) &&
         run(&r, error);
    walker_clear(&r.walker);
    g_string_free(r.trouble, TRUE);
    fd_close(&r.staging);
    fd_close(&r.blobs);
    return ok;
}
