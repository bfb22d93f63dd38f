/* SPDX-License-Identifier: Apache-2.0
 *
 * restore - see restore.h; the check and the order of the phases.
 */
#include "interceptor/restore/restore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/post_state.h"
#include "interceptor/report/survey.h"
#include "interceptor/restore/progress.h"
#include "interceptor/restore/restore_attach.h"
#include "interceptor/restore/restore_base.h"
#include "interceptor/restore/restore_busy.h"
#include "interceptor/restore/restore_content.h"
#include "interceptor/restore/restore_detach.h"
#include "interceptor/restore/restore_find.h"
#include "interceptor/restore/restore_late.h"
#include "interceptor/restore/restore_lost.h"
#include "interceptor/restore/restore_names.h"
#include "interceptor/restore/restore_preimages.h"
#include "interceptor/restore/restore_staged.h"
#include "interceptor/restore/restore_state.h"
#include "interceptor/sys/sys.h"

static gboolean fail(GError **error, int code, const char *what, int rc)
{
    g_set_error(error, STEPBACK_ERROR, code, "undo: %s: %s", what,
                g_strerror(-rc));
    return FALSE;
}

/* ---- check --------------------------------------------------------------- */

/* An inode with recorded content is a regular file. If something of another
 * type has its number now, the record does not mean that, and it stays as it
 * is. */
static gboolean check_types(struct restore *r, GError **error)
{
    GHashTableIter iter;
    gpointer key, value;

    g_hash_table_iter_init(&iter, r->survey->inodes);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        struct step_inode *inode = key;
        const struct survey_entry *entry = value;

        if (!(inode->flags & STEP_DATA) || S_ISREG(entry->st.st_mode))
            continue;
        if (!r->damaged_too && !r->edited_too)
            return fail(error, ERROR_PREIMAGE_CORRUPT, entry->name, -ESTALE);
        inode->flags &= ~(unsigned)(STEP_DATA | STEP_META);
    }
    return TRUE;
}

/* Check that every inode that lost a name is in the tree or in the log, or can
 * be made. */
static gboolean check_inodes(struct restore *r, GError **error)
{
    GHashTableIter iter;
    gpointer key;
    int rc;

    /* A rollback that was interrupted after this check: entries in staging, and
     * below directories in staging, cannot be checked here. */
    if (r->staging >= 0)
        return TRUE;
    rc = survey_make(r->step, r->root, false, &r->survey);
    if (rc < 0) {
        /* For example, a directory is unreadable: attaching reports that. */
        log_debug(LOG_UNDO, "undo: survey: %s", g_strerror(-rc));
        return TRUE;
    }
    if (!check_types(r, error))
        return FALSE;
    g_hash_table_iter_init(&iter, r->step->bindings);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        const struct step_binding *binding = key;
        struct step_inode *before = binding->before;

        if (!before || step_is_vacant(binding) ||
            g_hash_table_contains(r->survey->inodes, before))
            continue;
        rc = restore_can_find(r, before);
        if (rc < 0)
            return fail(error, ERROR_IO_ERROR, binding->name, rc);
        if (rc > 0)
            continue;
        g_autofree char *path = step_path_before(r->step, binding->dir,
                                                 binding->name);
        g_set_error(error, STEPBACK_ERROR, ERROR_PREIMAGE_MISSING,
                    "undo: '%s': the undo log has no copy",
                    path ? path : binding->name);
        return FALSE;
    }
    return TRUE;
}

/* ---- staging ------------------------------------------------------------- */

/* Return whether names can be moved between the two directories. The same file
 * system is not sufficient: rename(2) between two mounts of it fails with
 * EXDEV. */
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

/* Creating a directory in the root changes the root's mtime. */
static int record_root(struct restore *r)
{
    struct meta *meta;
    int rc;

    if (r->step->root->flags & STEP_META)
        return 0;
    rc = meta_read(r->root, &meta);
    return rc < 0 ? rc : step_record_meta(r->step, r->step->root, meta);
}

/* The name is random, so that restore may later remove whatever has it. */
static int name_staging(struct restore *r)
{
    g_autofree char *unique = g_uuid_string_random();
    g_autofree char *name = g_strdup_printf(".stepback-%s", unique);
    struct stat st;
    int rc = restore_open_journal(r);

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

/* Open the staging directory of an interrupted rollback; staging stays -1 if
 * there is none. */
static int open_old_staging(struct restore *r)
{
    find_staging_place(r);
    if (r->staging_name)
        r->staging = sys_openat(r->staging_dir, r->staging_name,
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    return r->staging >= 0 || !r->staging_name || r->staging == -ENOENT
               ? 0
               : r->staging;
}

static bool is_full(int rc)
{
    return rc == -ENOSPC || rc == -EDQUOT;
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
    if (is_full(rc) && restore_log_takes_names(r) &&
        undo_log_give_spare(r->log, r->dir, r->staging_name) == 0)
        rc = 0;
    if (rc < 0 && rc != -EEXIST)
        return rc;
    r->staging = sys_openat(r->staging_dir, r->staging_name,
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    return r->staging < 0 ? r->staging : 0;
}

/* No space for a staging directory: removing what the step created may free
 * some; and if no entry has to be moved, none is needed. */
static int do_without_staging(struct restore *r)
{
    int rc = restore_detach(r);

    if (rc == 0)
        rc = open_staging(r);
    return is_full(rc) && !r->wants_staging ? 0 : rc;
}

/* With RESTORE_EDITED, what other processes have removed does not stop the
 * rollback. */
static gboolean drop_lost(struct restore *r, GError **error)
{
    int rc = r->edited_too && r->staging < 0 ? restore_find_lost(r) : 0;

    /* EACCES: the step has closed a directory to its owner, and the process is
     * not root; what cannot be examined is not lost. restore_relax() opens the
     * directory when its entries are restored. */
    if (rc == 0 || rc == -EACCES)
        rc = restore_drop_lost(r);
    return rc == 0 || fail(error, ERROR_IO_ERROR, "undo log", rc);
}

/* ---- restoring ----------------------------------------------------------- */

static gboolean run_fail(struct restore *r, GError **error, const char *what,
                         int rc)
{
    r->rc = rc;
    return fail(error, ERROR_IO_ERROR,
                r->trouble->len > 0 ? r->trouble->str : what, rc);
}

static void count_work(struct restore *r)
{
    struct step *step = r->step;
    GHashTableIter iter;
    gpointer value;

    if (!r->progress)
        return;
    r->progress->total = g_hash_table_size(step->bindings);
    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        unsigned flags = ((const struct step_inode *)value)->flags;

        r->progress->total += (flags & STEP_META ? 1 : 0) +
                              (flags & STEP_DATA ? 1 : 0);
    }
}

static int run_once(struct restore *r, const char **ret_part)
{
    int rc = open_staging(r);

    *ret_part = "staging folder";
    if (is_full(rc) && r->keep < 0)
        rc = do_without_staging(r);
    if (rc < 0)
        return rc;
    *ret_part = "detaching new entries";
    rc = r->staging < 0 ? 0 : restore_detach(r);
    if (rc < 0)
        return rc;
    *ret_part = "attaching names";
    rc = restore_attach(r);
    if (rc < 0)
        return rc;
    *ret_part = "restoring content";
    r->begun_content = true;
    rc = restore_close_staging(r);
    if (rc == 0)
        rc = restore_content(r);
    return rc < 0 ? rc : restore_metadata(r);
}

gboolean restore_run(struct restore *r, GError **error)
{
    const char *part;
    int rc, again;

    restore_tell_alive(r);
    count_work(r);
    do {
        g_string_truncate(r->trouble, 0);
        r->gone = NULL;
        rc = run_once(r, &part);
        again = rc < 0 ? restore_go_without(r, rc) : 0;
    } while (again > 0);
    if (rc == 0)
        return TRUE;
    run_fail(r, error, part, again);
    restore_return_modes(r);
    return FALSE;
}

struct restore *restore_new(struct undo_log *log, struct step *step, int dirfd,
                            int root, struct log_links *log_links,
                            unsigned flags, GError **error)
{
    int blobs = sys_openat(dirfd, STEP_BLOBS,
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    struct restore *r;
    int rc;

    if (blobs < 0) {
        fail(error,
             blobs == -ENOENT                       ? ERROR_PREIMAGE_MISSING
             : blobs == -ELOOP || blobs == -ENOTDIR ? ERROR_PREIMAGE_CORRUPT
                                                    : ERROR_IO_ERROR,
             "blobs", blobs);
        return NULL;
    }
    r = g_new0(struct restore, 1);
    *r = (struct restore){
        .step = step,
        .log = log,
        .log_links = log_links,
        .dir = dirfd,
        .blobs = blobs,
        .root = root,
        .staging = -1,
        .keep = -1,
        .edited_since = INT64_MAX,
        .foreign_since = INT64_MAX,
        .damaged_too = flags & RESTORE_DAMAGED,
        .edited_too = flags & RESTORE_EDITED,
        .forced = flags & RESTORE_FORCED && post_state_is_complete(step),
        .lost = g_ptr_array_new_with_free_func(g_free),
        .orphans = g_ptr_array_new_with_free_func(g_free),
        .emptied = g_ptr_array_new_with_free_func(g_free),
        .trouble = g_string_new(NULL),
        .made = g_hash_table_new(NULL, NULL),
        .relaxed = g_hash_table_new(NULL, NULL),
    };
    step->dry = flags & RESTORE_DRY;
    step_sort(step);
    restore_walker_init(&r->walker, r, root, step->root);
    rc = open_old_staging(r);
    if (rc < 0) {
        fail(error, ERROR_IO_ERROR, "staging folder", rc);
        g_clear_pointer(&r, restore_free);
    }
    return r;
}

void restore_free(struct restore *r)
{
    if (!r)
        return;
    survey_free(r->survey);
    g_clear_pointer(&r->edited, g_hash_table_unref);
    g_clear_pointer(&r->alive, g_hash_table_unref);
    g_clear_pointer(&r->missed, g_hash_table_unref);
    g_hash_table_unref(r->made);
    g_hash_table_unref(r->relaxed);
    g_ptr_array_unref(r->lost);
    g_ptr_array_unref(r->orphans);
    g_ptr_array_unref(r->emptied);
    walker_clear(&r->walker);
    g_string_free(r->trouble, TRUE);
    fd_close(&r->staging);
    fd_close(&r->blobs);
    g_free(r);
}

static int is_moved(int fd, const struct dirent *entry, void *opaque)
{
    return entry->d_name[0] == 'i' && g_ascii_isdigit(entry->d_name[1]);
}

/* Entries that were moved into the log cannot be moved back into another mount
 * of the file system (rename(2), EXDEV): the rollback would stop half-way. */
static gboolean check_mount(struct restore *r, GError **error)
{
    struct stat log, root;
    int rc;

    if (is_same_mount(r->dir, r->root))
        return TRUE;
    rc = sys_stat_fd(r->dir, &log);
    if (rc == 0)
        rc = sys_stat_fd(r->root, &root);
    if (rc == 0 && log.st_dev == root.st_dev)
        rc = sys_dir_each(r->blobs, ".", is_moved, NULL);
    if (rc < 0)
        return fail(error, ERROR_IO_ERROR, "undo log", rc);
    if (rc == 0)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                "step %" G_GINT64_FORMAT
                ": removed files are in the undo log, and the folder is on "
                "another mount (a bind mount) than the log; name the folder, "
                "or start its file server, by a path on the log's mount",
                r->step->id);
    return FALSE;
}

gboolean restore_check(struct restore *r, GError **error)
{
    gboolean ok = check_mount(r, error) && restore_check_preimages(r, error) &&
                  drop_lost(r, error) && check_inodes(r, error) &&
                  (!r->survey || restore_check_busy(r, error));

    if (!ok)
        restore_return_modes(r);
    return ok;
}

const struct survey *restore_survey(const struct restore *r)
{
    return r->survey;
}

GPtrArray *restore_lost(const struct restore *r)
{
    return r->lost;
}

GPtrArray *restore_emptied(const struct restore *r)
{
    return r->emptied;
}

GPtrArray *restore_orphans(const struct restore *r)
{
    return r->orphans;
}

void restore_set_keep(struct restore *r, int blobs)
{
    r->keep = blobs;
}

void restore_set_foreign(struct restore *r, int64_t since_us)
{
    r->foreign_since = since_us;
}

int restore_errno(const struct restore *r)
{
    return r->rc;
}

bool restore_has_begun_content(const struct restore *r)
{
    return r->begun_content;
}

bool restore_has_remade(const struct restore *r)
{
    return r->remade;
}

bool restore_has_lost(const struct restore *r)
{
    return r->any_lost;
}

bool restore_can_keep(const struct restore *r)
{
    return restore_log_takes_names(r);
}

gboolean restore_check_log(struct restore *r, GError **error)
{
    return restore_check_preimages(r, error);
}

void restore_set_progress(struct restore *r, struct progress *progress)
{
    r->progress = progress;
}
