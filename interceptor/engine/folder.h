/* SPDX-License-Identifier: Apache-2.0
 *
 * folder - which folder a step changed.
 *
 * A log is one folder's. But it can be named beside another one by mistake, and
 * at a folder's place another may be made, mounted or restored. What has a
 * step's inode numbers and names there is none of its business, so nothing of a
 * step is undone, redone or finished but in its folder.
 *
 * folder_mark.h says how that is told.
 */
#ifndef INTERCEPTOR_ENGINE_FOLDER_H
#define INTERCEPTOR_ENGINE_FOLDER_H

#include <glib.h>
#include <stdbool.h>

struct ic;
struct ic_step_info;
struct step;

/* Was it the share that this step changed? */
bool folder_is_of(const struct ic *ic, const struct step *step);

/* ERROR_INVALID_DIRECTORY, with the way out: it was not. undone: the step is
 * to be undone, where folder_may_pass_by() says whether force can help. */
gboolean folder_check(struct ic *ic, const struct step *step, bool undone,
                      GError **error);

/* Has the log steps of the share that this one hides? Then the log is the
 * share's, the step is a stranger, and whoever insists may pass it by. Where
 * the log has no other steps the folder may well have been named by mistake. */
bool folder_may_pass_by(struct ic *ic, const struct step *step);

/* What the step noted (report_from_step()), for those who look. Of another
 * folder it says so, and is not undoable. */
struct ic_step_info *folder_report(const struct ic *ic, struct step *step);

/* A warning if the newest step of the log, or the newest one to redo, changed
 * another folder than the share. True: so it is. */
bool folder_warn_of_other(struct ic *ic);

#endif
