/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback_keep - see rollback_keep.h.
 */
#include "interceptor/engine/rollback_keep.h"

#include <dirent.h>
#include <errno.h>

#include "common/log.h"
#include "interceptor/engine/outside.h"
#include "interceptor/engine/outside_note.h"
#include "interceptor/engine/redo_target.h"
#include "interceptor/engine/rollback_extent.h"
#include "interceptor/log/step_mark.h"
#include "interceptor/restore/restore_content.h"
#include "interceptor/restore/restore_edited.h"
#include "interceptor/sys/sys.h"

/* ---- before the rollback ------------------------------------------------- */

/* marked: an earlier try knew of some edits, and which they were is no longer
 * known. */
static int find_edited(struct ic *ic, const struct step *step,
                       struct restore *restore, bool marked)
{
    GHashTable *inodes;
    int64_t since_us;

    outside_find_edited(ic, step, marked ? NULL : restore_survey(restore),
                        &since_us, &inodes);
    return restore_set_edited(restore, marked ? 0 : since_us, inodes);
}

/* Return the time from which inodes put aside may be another process's: 0 if
 * some are known to be, INT64_MAX if none can be. Edits that the history lacks
 * are marked: the next start would not find them. */
static int64_t foreign_since(struct ic *ic, const struct step *step, int dir,
                             const struct survey *survey)
{
    bool marked = step_is_marked(dir, STEP_MARK_FOREIGN) != 0;
    bool later = outside_came_later(ic, survey);

    if (!marked && ic->unkept->len > 0 &&
        step_mark(dir, STEP_MARK_FOREIGN, atomic_load(&ic->durable.power)) < 0)
        log_warn(LOG_UNDO, "cannot mark the record of step %" G_GINT64_FORMAT,
                 step->id);
    if (marked || outside_is_told(ic, step, survey))
        return 0;
    return later || !survey ? undo_log_owner_doubt(ic->log) : INT64_MAX;
}

/* If no user was asked whether other processes' files in the step's folders may
 * be removed, everything put aside stays in the redo, or else in the step's own
 * log. blobs: of that log. Returns whose blobs/ keeps it; -1: it may be
 * removed. */
static int keep_foreign(struct ic *ic, const struct step *step, int dir,
                        struct restore *restore,
                        const struct redo_target *target, int blobs)
{
    int64_t since = blobs < 0
                        ? INT64_MAX
                        : foreign_since(ic, step, dir, restore_survey(restore));

    if (since == INT64_MAX)
        return -1;
    if (target->dir >= 0)
        return target->blobs;
    restore_set_foreign(restore, since);
    if (!restore_can_keep(restore))
        return -1;
    restore_set_keep(restore, blobs);
    return blobs;
}

/* The same if the caller forced the rollback over such edits: inodes put aside
 * or overwritten stay in the redo, if there will be one, or in the step's own
 * log. */
static int keep_edited(struct restore *restore,
                       const struct redo_target *target, int blobs)
{
    if (target->dir >= 0)
        return 0;
    restore_set_keep(restore, blobs);
    return restore_set_edited(restore, 0, NULL);
}

/* If names can be moved, inodes put aside are kept anyway. */
int rollback_keep_later(struct ic *ic, const struct step *step, int dir,
                        struct restore *restore, bool marked)
{
    int rc = find_edited(ic, step, restore, marked);

    if (rc == 0 && !restore_can_keep(restore))
        restore_set_foreign(
            restore, foreign_since(ic, step, dir, restore_survey(restore)));
    return rc;
}

int rollback_keep_prepare(struct ic *ic, const struct step *step, int dir,
                          unsigned flags, struct restore *restore,
                          const struct redo_target *target, int blobs,
                          struct rollback_keep *keep)
{
    int rc = 0;

    if (flags & ROLLBACK_COMPARED)
        return 0;
    /* The redo of a resumed rollback lacks what was written since it was made.
     */
    if (!(flags & ROLLBACK_CROSS) || flags & ROLLBACK_RESUMED)
        rc = rollback_keep_later(ic, step, dir, restore, keep->marked);
    if (rc == 0 && flags & ROLLBACK_CROSS)
        return keep->precious && blobs >= 0
                   ? keep_edited(restore, target, blobs)
                   : 0;
    if (rc == 0)
        keep->keep = keep_foreign(ic, step, dir, restore, target, blobs);
    return rc;
}

bool rollback_keeps_redo(const struct rollback_keep *keep, unsigned flags,
                         const struct restore *restore,
                         const struct redo_target *target)
{
    if (target->dir < 0)
        return false;
    if (!(flags & ROLLBACK_CROSS))
        return keep->keep >= 0;
    return keep->precious &&
           (restore_has_lost(restore) || restore_has_remade(restore));
}

/* ---- after the rollback -------------------------------------------------- */

/* Returns 1 if the entry must be kept. */
static int is_left(int blobs, const struct dirent *entry, void *opaque)
{
    const char *name = entry->d_name;
    struct stat st;
    int rc;

    if (restore_is_edited(name) || restore_is_orphan(name))
        return 1;
    if (name[0] != 'i')
        return 0;
    rc = sys_stat_name(blobs, name, &st);
    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    return S_ISDIR(st.st_mode) || st.st_nlink == 1;
}

bool rollback_has_rest(int blobs)
{
    return sys_dir_each(blobs, ".", is_left, NULL) != 0;
}

static bool has_lost(struct step *step)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct step_inode *inode = value;

        if (inode->flags & STEP_LOST)
            return true;
    }
    return false;
}

/* Return whether everything that the step changed is restored. */
static bool is_complete(struct step *step, const struct restore *restore)
{
    GPtrArray *orphans = restore ? restore_orphans(restore) : NULL;

    return restore && !step->damaged && !has_lost(step) &&
           !restore_has_lost(restore) && (!orphans || orphans->len == 0);
}

int rollback_keep_rest(struct ic *ic, struct step *step,
                       const struct restore *restore,
                       struct ic_rollback_result *result)
{
    GPtrArray *orphans = restore ? restore_orphans(restore) : NULL;
    struct undo_log_name name;
    int rc = undo_log_set_aside(ic->log, step->id, step->seq, &name);

    if (rc < 0)
        return rc;
    events_warn(
        ic->events, "step %" G_GINT64_FORMAT ": %s is in %s/damaged/%s",
        step->id,
        is_complete(step, restore)
            ? "rolled back; content that another process may have written there"
            : "not all of it could be restored; the undo log's copy",
        ic->undo_dir, name.text);
    for (guint i = 0; result && orphans && i < orphans->len; i++)
        outside_warn(result,
                     g_strdup_printf("step %" G_GINT64_FORMAT
                                     ": the old content of %s is in "
                                     "%s/damaged/%s",
                                     step->id,
                                     (char *)g_ptr_array_index(orphans, i),
                                     ic->undo_dir, name.text));
    return 0;
}
