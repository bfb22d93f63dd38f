/* SPDX-License-Identifier: Apache-2.0
 *
 * redo_target - see redo.h: the inverse from its creation until it is in redo/.
 */
#include <errno.h>
#include <fcntl.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/engine/redo_target.h"
#include "interceptor/log/post_state.h"
#include "interceptor/log/step_mark.h"
#include "interceptor/report/post_survey.h"
#include "interceptor/restore/inverse.h"
#include "interceptor/sys/sys.h"

void redo_close(struct redo_target *target)
{
    fd_close(&target->blobs);
    fd_close(&target->dir);
}

void redo_drop(struct ic *ic, struct redo_target *target)
{
    redo_close(target);
    if (undo_log_drop_inverse(ic->log) < 0)
        log_warn(LOG_UNDO, "undo log: cannot remove an unused part; the next "
                           "start tries again");
}

/* An inverse that cannot be examined may exist: return -errno. */
static int none_or(int rc)
{
    return undo_log_is_damage(rc) ? 0 : rc;
}

/* Return 1 if it has an end record anywhere, since post states may follow it; 0
 * if not, or -errno. */
static int is_complete(struct ic *ic, struct redo_target *target, int64_t id)
{
    g_autoptr(step_auto) step = NULL;
    int rc = step_load(target->dir, undo_log_alias, ic->log, &step);

    if (rc < 0)
        return none_or(rc);
    if (!step->end || (id && step->id != id))
        return 0;
    target->seq = step->seq;
    /* Recreated inodes are recorded with the inverse's seq, after a crash, too
     * (undo_log.h, "at"). */
    undo_log_use(ic->log, 0, target->seq);
    target->blobs = sys_openat(target->dir, STEP_BLOBS,
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    return target->blobs >= 0 ? 1 : none_or(target->blobs);
}

/* A new link in the inverse has changed the inode's ctime; the ledger has no
 * entry for that until the inverse is used. */
static void loosen_links(struct ic *ic, const struct redo_target *target)
{
    fd_auto int blobs = sys_openat(target->dir, STEP_BLOBS,
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    g_autoptr(step_auto) step = NULL;
    GHashTableIter iter;
    gpointer value;

    if (blobs < 0 || step_load(target->dir, undo_log_alias, ic->log, &step) < 0)
        return;
    g_hash_table_iter_init(&iter, step->inodes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct step_inode *inode = value;
        struct stat st;

        if (inode->flags & STEP_SEEN &&
            sys_stat_name(blobs, step_inode_blob(inode->ino).text, &st) == 0)
            ctime_ledger_loosen(undo_log_ctime_ledger(ic->log), &inode->seen,
                                undo_log_last_seq(ic->log));
    }
}

static void drop_unfinished(struct ic *ic, struct redo_target *target)
{
    if (target->dir >= 0)
        loosen_links(ic, target);
    redo_drop(ic, target);
}

int redo_find(struct ic *ic, int64_t id, struct redo_target *ret_target)
{
    int rc;

    *ret_target = REDO_TARGET_NONE;
    ret_target->dir = undo_log_open_inverse(ic->log);
    rc = ret_target->dir < 0 ? none_or(ret_target->dir)
                             : is_complete(ic, ret_target, id);
    if (rc == 0)
        drop_unfinished(ic, ret_target);
    else if (rc < 0)
        redo_close(ret_target);
    return MIN(rc, 0);
}

static int make(struct ic *ic, struct redo_target *target,
                const struct inverse_source *source)
{
    int rc = undo_log_create_inverse(ic->log, &target->dir);

    if (rc == 0)
        target->blobs = sys_openat(target->dir, STEP_BLOBS,
                                   O_RDONLY | O_DIRECTORY, 0);
    if (rc == 0 && target->blobs < 0)
        rc = target->blobs;
    return rc < 0 ? rc : inverse_make(source, target->dir);
}

int redo_make(struct ic *ic, struct step *step, int blobs,
              const struct restore *restore, int64_t max_bytes,
              struct redo_target *ret_target)
{
    struct redo_target target = REDO_TARGET_NONE;
    struct inverse_source source = {
        .step = step,
        .blobs = blobs,
        .survey = restore_survey(restore),
        .restore = restore,
        .root = ic->root->fd,
        .log_links = ic->log_links,
        .seq = undo_log_next_seq(ic->log),
        .max_bytes = max_bytes,
        .copies = !restore_can_keep(restore),
    };
    int rc;

    if (!source.survey || !step->end)
        return -EOPNOTSUPP;
    target.seq = source.seq;
    rc = make(ic, &target, &source);
    if (rc < 0) {
        drop_unfinished(ic, &target);
        return rc;
    }
    *ret_target = target;
    return 0;
}

/* Record the current tree where the inverse will change it: lines, and a second
 * end record with their number. */
static int write_post_state(struct ic *ic, struct step *step)
{
    g_autoptr(survey_auto) survey = NULL;
    int rc = survey_make(step, ic->root->fd, true, &survey);
    size_t count = 0;
    json_t *end;

    if (rc == 0)
        rc = post_survey_write(step, survey, &count);
    if (rc < 0)
        return rc;
    end = json_deep_copy(step->end);
    json_object_del(end, "sum");
    json_object_set_new(end, "post", json_integer((json_int_t)count));
    return journal_append(step->journal, end);
}

static bool is_end(json_t *record)
{
    const char *type = json_string_value(json_object_get(record, "t"));

    return g_strcmp0(type, "end") == 0;
}

int redo_add_post_state(struct ic *ic, const struct redo_target *target)
{
    g_autoptr(step_auto) step = NULL;
    int rc = step_load(target->dir, undo_log_alias, ic->log, &step);
    int64_t size = 0;

    if (rc == 0)
        rc = journal_find(target->dir, STEP_MANIFEST, is_end, &size);
    if (rc == 0)
        rc = journal_open(target->dir, STEP_MANIFEST, &step->journal);
    if (rc == 0 && size < journal_size(step->journal))
        rc = journal_truncate(step->journal, size);
    if (rc < 0)
        return -ENOTRECOVERABLE;
    rc = write_post_state(ic, step);
    /* The end record must be the last. */
    if (rc < 0 && journal_truncate(step->journal, size) < 0)
        rc = -ENOTRECOVERABLE;
    return rc;
}

void redo_set_keep(struct restore *restore, const struct redo_target *target)
{
    if (restore_can_keep(restore))
        restore_set_keep(restore, target->blobs);
}

/* A redo is impossible, but the inverse may have the only copy of something. */
static void keep_aside(struct ic *ic, int cause)
{
    int rc = undo_log_set_inverse_aside(ic->log);

    events_warn(
        ic->events,
        "this undo cannot be redone: %s; the files it put aside are in %s/%s",
        g_strerror(-cause), ic->undo_dir, rc == 0 ? "damaged" : "wal");
}

void redo_keep(struct ic *ic, struct redo_target *target,
               const struct restore *restore, bool precious)
{
    int rc;

    /* The remaining inverses apply to a state that can no longer be reached. */
    if (target->dir < 0) {
        redo_drop_all(ic);
        return;
    }
    if (restore_has_remade(restore)) {
        redo_drop(ic, target);
        redo_drop_all(ic);
        return;
    }
    rc = redo_add_post_state(ic, target);
    if (rc == 0 && !precious)
        step_mark(target->dir, STEP_MARK_OWN, atomic_load(&ic->durable.power));
    if (rc == 0 || (precious && rc != -ENOTRECOVERABLE))
        rc = undo_log_keep_inverse(ic->log, target->seq);
    if (rc < 0 && precious)
        keep_aside(ic, rc);
    else if (rc < 0) {
        log_warn(LOG_UNDO, "this undo cannot be redone: %s", g_strerror(-rc));
        redo_drop(ic, target);
        redo_drop_all(ic);
    }
    redo_close(target);
}

int redo_drop_all(struct ic *ic)
{
    return undo_log_drop_redos(ic->log);
}

void redo_each(struct ic *ic, void (*each)(struct ic *ic, int folder))
{
    fd_auto int inverse = undo_log_open_inverse(ic->log);
    size_t count;
    const int64_t *seqs = undo_log_redos(ic->log, &count);

    for (size_t i = 0; i < count; i++) {
        fd_auto int folder = undo_log_open_redo(ic->log, seqs[i]);

        each(ic, folder);
    }
    each(ic, inverse);
}
