/* SPDX-License-Identifier: Apache-2.0
 *
 * name_check - warn about new names that mean something else outside the guest.
 *
 * symlink_outside: a symlink escapes from the working folder; the host resolves
 * it to another file than the guest. case_collision: two names differ only in
 * case (or in Unicode composition); a host that folds case sees one name.
 *
 * These are warnings only: the folders live on a Linux host, which keeps such
 * names apart.
 */
#ifndef AGENT_SESSION_NAME_CHECK_H
#define AGENT_SESSION_NAME_CHECK_H

#include <glib.h>

#include "agent/base/undo_result.h"
#include "agent/client/engine_event.h"

/* Check the created and renamed paths among a report's changes in the folder
 * with this label. Return a list of at most one struct folder_warning of each
 * kind, each a new object. The work is bounded, so very large folders are
 * skipped. */
GPtrArray *name_check(int root_fd, const struct step_report *report,
                      const char *label);

#endif
