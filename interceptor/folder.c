/* SPDX-License-Identifier: Apache-2.0
 *
 * folder - see folder.h.
 */
#include "interceptor/folder.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/json_bytes.h"
#include "interceptor/engine.h"
#include "interceptor/report.h"
#include "interceptor/sys.h"

/* ---- what is known ------------------------------------------------------- */

static int64_t lasting_fsid(int rootfd)
{
    struct statfs fs;
    int64_t fsid;

    if (fstatfs(rootfd, &fs) != 0 ||
        (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != BTRFS_SUPER_MAGIC))
        return 0;
    G_STATIC_ASSERT(sizeof(fs.f_fsid) == sizeof(fsid));
    memcpy(&fsid, &fs.f_fsid, sizeof(fsid));
    return fsid;
}

void folder_mark_look(struct folder_mark *mark, int rootfd, bool births,
                      const char *path)
{
    struct timespec born, changed;

    folder_mark_clear(mark);
    if (births && sys_birth_name(rootfd, ".", &born, &changed) == 0)
        mark->born = sys_time_us(&born);
    mark->fsid = lasting_fsid(rootfd);
    mark->path = g_strdup(path);
}

void folder_mark_copy(struct folder_mark *mark, const struct folder_mark *from)
{
    folder_mark_clear(mark);
    *mark = *from;
    mark->path = g_strdup(from->path);
}

void folder_mark_clear(struct folder_mark *mark)
{
    g_free(mark->path);
    *mark = (struct folder_mark){ 0 };
}

void folder_mark_write(const struct folder_mark *mark, json_t *record)
{
    if (mark->born)
        json_object_set_new(record, "born", json_integer(mark->born));
    if (mark->fsid)
        json_object_set_new(record, "fsid", json_integer(mark->fsid));
    if (mark->path) {
        json_t *path = json_object();

        json_bytes_set(path, "v", mark->path, strlen(mark->path));
        json_object_set_new(record, "folder", path);
    }
}

void folder_mark_read(struct folder_mark *mark, json_t *record)
{
    json_t *path = json_object_get(record, "folder");

    folder_mark_clear(mark);
    mark->born = json_integer_value(json_object_get(record, "born"));
    mark->fsid = json_integer_value(json_object_get(record, "fsid"));
    mark->path = path ? json_bytes_get(path, "v", NULL) : NULL;
}

/* ---- steps --------------------------------------------------------------- */

/* What is not known does not differ. */
static bool may_be_equal(int64_t a, int64_t b)
{
    return a == 0 || b == 0 || a == b;
}

bool folder_is_of(const struct ic *ic, const struct step *step)
{
    return step->root->ino == ic->root->ino &&
           may_be_equal(step->folder.born, ic->folder.born) &&
           may_be_equal(step->folder.fsid, ic->folder.fsid);
}

/* Its name then, or that another one had the same. A new string. */
static char *describe(const struct ic *ic, const struct step *step)
{
    if (!step->folder.path)
        return g_strdup("");
    if (g_strcmp0(step->folder.path, ic->folder.path) == 0)
        return g_strdup(" (one that was at its place then)");
    return g_strdup_printf(" (%s, by its name then)", step->folder.path);
}

gboolean folder_check(const struct ic *ic, const struct step *step,
                      GError **error)
{
    g_autofree char *which = NULL;

    if (folder_is_of(ic, step))
        return TRUE;
    which = describe(ic, step);
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "step %" G_GINT64_FORMAT
                "%s changed another folder than %s%s: nothing of it is undone "
                "or redone but there; if that folder is gone, 'stepback undo "
                "--discard' forgets all steps of the log %s",
                step->id, step->end ? "" : ", which did not end,", ic->share,
                which, ic->undo_dir);
    return FALSE;
}

struct ic_step_info *folder_report(const struct ic *ic, struct step *step)
{
    struct ic_step_info *info = report_from_step(step);

    info->other_folder = !folder_is_of(ic, step);
    info->undoable &= !info->other_folder;
    return info;
}

/* dir: of a step or of its inverse; taken. A new string, or NULL: of ours. */
static char *other_folder(const struct ic *ic, int dir)
{
    fd_auto int fd = dir;
    g_autoptr(step_auto) step = NULL;

    if (fd < 0 || step_load_summary(fd, &step) != 0 || folder_is_of(ic, step))
        return NULL;
    return describe(ic, step);
}

void folder_warn_of_other(struct ic *ic)
{
    size_t count = 0, redos = 0;
    const struct undo_log_entry *entries;
    const int64_t *seqs;
    g_autofree char *which = NULL;

    if (!ic->log)
        return;
    entries = undo_log_entries(ic->log, &count);
    seqs = undo_log_redos(ic->log, &redos);
    if (count > 0 && !entries[count - 1].damaged)
        which = other_folder(
            ic, undo_log_open_step(ic->log, entries[count - 1].id));
    if (!which && redos > 0)
        which = other_folder(ic, undo_log_open_redo(ic->log, seqs[redos - 1]));
    if (which)
        events_warn(
            ic->events,
            "the undo log %s has steps of another folder than %s%s: they can "
            "be undone and redone only there; give this folder a log of its "
            "own, or forget these steps with 'stepback undo --discard'",
            ic->undo_dir, ic->share, which);
}
