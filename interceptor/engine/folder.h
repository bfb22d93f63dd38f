/* SPDX-License-Identifier: Apache-2.0
 *
 * folder - decide whether a step changed the shared folder.
 *
 * A log belongs to one folder. But a user can name it for another one by
 * mistake, and another folder may be made, mounted or restored at the same
 * path. Inodes there with a step's numbers and names are unrelated, so a step
 * is only undone, redone or finished in its own folder. folder_mark.h describes
 * how folders are identified.
 */
#ifndef INTERCEPTOR_ENGINE_FOLDER_H
#define INTERCEPTOR_ENGINE_FOLDER_H

#include <glib.h>
#include <stdbool.h>

struct ic;
struct ic_step_info;
struct step;

/* Return whether the step changed this share. */
bool folder_is_of(const struct ic *ic, const struct step *step);

/* Set ERROR_INVALID_DIRECTORY, with the remedy, if the step changed another
 * folder. undone: the step is about to be undone; then folder_may_pass_by()
 * decides whether force can help. */
gboolean folder_check(struct ic *ic, const struct step *step, bool undone,
                      GError **error);

/* Return whether older steps of this share are below the step. Then the log is
 * the share's, the step is foreign, and force may skip it. If the log has no
 * other steps, the user may have named the wrong folder. */
bool folder_may_pass_by(struct ic *ic, const struct step *step);

/* Return what the step recorded (report_from_step()), for callers that only
 * look. A step of another folder is marked as such and is not undoable. */
struct ic_step_info *folder_report(const struct ic *ic, struct step *step);

/* Warn if the newest step of the log, or the newest one to redo, changed
 * another folder than the share. True: it did. */
bool folder_warn_of_other(struct ic *ic);

#endif
