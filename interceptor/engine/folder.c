/* SPDX-License-Identifier: Apache-2.0
 *
 * folder - see folder.h.
 */
#include "interceptor/engine/folder.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/json_bytes.h"
#include "interceptor/engine/core.h"
#include "interceptor/report/report.h"
#include "interceptor/sys/sys.h"

/* After its first change, so from the step's end at the latest, the root of an
 * overlay keeps its btime. */
static bool was_born_later(const struct ic *ic, const struct step *step)
{
    json_t *ended = json_object_get(step->end, "us");

    return ic->folder.born >
           (ended ? json_integer_value(ended) : undo_log_owner_gone(ic->log));
}

/* An unknown btime does not differ. */
static bool has_other_btime(const struct ic *ic, const struct step *step)
{
    if (!step->folder.born || !ic->folder.born ||
        step->folder.born == ic->folder.born)
        return false;
    return !ic->folder.born_moves || was_born_later(ic, step);
}

static bool has_other_subvolume(const struct ic *ic, const struct step *step)
{
    return step->folder.subvolume && ic->folder.subvolume &&
           strcmp(step->folder.subvolume, ic->folder.subvolume) != 0;
}

bool folder_is_of(const struct ic *ic, const struct step *step)
{
    return step->root->ino == ic->root->ino && !has_other_btime(ic, step) &&
           !has_other_subvolume(ic, step);
}

bool folder_may_pass_by(struct ic *ic, const struct step *step)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);
    bool found = false;

    for (size_t i = count; i > 0 && !found; i--) {
        fd_auto int dir = undo_log_open_step(ic->log, entries[i - 1].id);
        g_autoptr(step_auto) older = NULL;

        found = dir >= 0 && step_load_summary(dir, &older) == 0 &&
                older->seq < step->seq && folder_is_of(ic, older);
    }
    return found;
}

/* Describe the other folder by its path then, or as another folder of the same
 * path. A new string. */
static char *describe(const struct ic *ic, const struct step *step)
{
    if (!step->folder.path)
        return g_strdup("");
    if (g_strcmp0(step->folder.path, ic->folder.path) == 0)
        return g_strdup(" (another one at the same path)");
    return g_strdup_printf(" (then at %s)", step->folder.path);
}

gboolean folder_check(struct ic *ic, const struct step *step, bool undone,
                      GError **error)
{
    g_autofree char *which = NULL;
    const char *way;

    if (folder_is_of(ic, step))
        return TRUE;
    which = describe(ic, step);
    way = undone && folder_may_pass_by(ic, step)
              ? "or skip it with force ('stepback undo --force'), which ends "
                "its undo and moves its saved content to damaged/ in"
              : "or, if that folder is gone, discard all steps ('stepback undo "
                "--discard') of";
    g_set_error(
        error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
        "step %" G_GINT64_FORMAT
        "%s changed another folder than %s%s; undo it there, %s the log %s",
        step->id, step->end ? "" : " (unfinished)", ic->share, which, way,
        ic->undo_dir);
    return FALSE;
}

struct ic_step_info *folder_report(const struct ic *ic, struct step *step)
{
    struct ic_step_info *info = report_from_step(step);

    info->other_folder = !folder_is_of(ic, step);
    info->undoable &= !info->other_folder;
    return info;
}

/* dir: of a step or of its inverse; ownership taken. Returns a new string, or
 * NULL if the step is of this folder. */
static char *other_folder(const struct ic *ic, int dir)
{
    fd_auto int fd = dir;
    g_autoptr(step_auto) step = NULL;

    if (fd < 0 || step_load_summary(fd, &step) != 0 || folder_is_of(ic, step))
        return NULL;
    return describe(ic, step);
}

bool folder_warn_of_other(struct ic *ic)
{
    size_t count, redos;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);
    const int64_t *seqs = undo_log_redos(ic->log, &redos);
    g_autofree char *which = NULL;

    if (count > 0 && !entries[count - 1].damaged)
        which = other_folder(
            ic, undo_log_open_step(ic->log, entries[count - 1].id));
    if (!which && redos > 0)
        which = other_folder(ic, undo_log_open_redo(ic->log, seqs[redos - 1]));
    if (which)
        events_warn(
            ic->events,
            "undo log %s: has steps of another folder than %s%s, which can be "
            "undone and redone only there; use another log for this folder, or "
            "discard these steps with 'stepback undo --discard'",
            ic->undo_dir, ic->share, which);
    return which != NULL;
}
