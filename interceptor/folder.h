/* SPDX-License-Identifier: Apache-2.0
 *
 * folder - which folder a step changed.
 *
 * A log is one folder's. But it can be named beside another one by mistake, and
 * at a folder's place another may be made, mounted or restored. What has a
 * step's inode numbers and names there is none of its business, so nothing of a
 * step is undone, redone or finished but in its folder.
 *
 * That is told by the root's inode number, which is often given again at once;
 * so also by its birth and by its file system, as far as these are known.
 */
#ifndef INTERCEPTOR_FOLDER_H
#define INTERCEPTOR_FOLDER_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct ic;
struct ic_step_info;
struct step;

struct folder_mark {
    int64_t born; /* of the root: us since the epoch; 0: not known */

    /* f_fsid of statfs(2), where it stays the same: ext4 makes it of its UUID,
     * btrfs of that and the subvolume, so that a snapshot has another. XFS and
     * F2FS make it of the device's number, which may change at each boot. 0:
     * not known. */
    int64_t fsid;

    char *path; /* where the folder was then; NULL: not known */
};

/* What is to be known of this root. births: the file system's times of birth
 * stay what they are. path is copied. */
void folder_mark_look(struct folder_mark *mark, int rootfd, bool births,
                      const char *path);

void folder_mark_copy(struct folder_mark *mark, const struct folder_mark *from);
void folder_mark_clear(struct folder_mark *mark);

/* As members of the first line of a step's record; what is missing there is not
 * known. */
void folder_mark_write(const struct folder_mark *mark, json_t *record);
void folder_mark_read(struct folder_mark *mark, json_t *record);

/* Was it the share that this step changed? */
bool folder_is_of(const struct ic *ic, const struct step *step);

/* ERROR_INVALID_DIRECTORY, with the way out: it was not. */
gboolean folder_check(const struct ic *ic, const struct step *step,
                      GError **error);

/* What the step noted (report_from_step()), for those who look. Of another
 * folder it says so, and is not undoable. */
struct ic_step_info *folder_report(const struct ic *ic, struct step *step);

/* A warning if the newest step of the log, or the newest one to redo, changed
 * another folder than the share. */
void folder_warn_of_other(struct ic *ic);

#endif
