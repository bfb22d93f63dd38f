/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_lookup - find the undo log of a folder above, as git(1) finds its
 * repository.
 *
 * The way up ends at the root, at another filesystem, which no log above
 * covers, and at a log that is another user's: that one's steps are not the
 * caller's to see or to undo.
 */
#ifndef AGENT_CLI_CLI_LOOKUP_H
#define AGENT_CLI_CLI_LOOKUP_H

#include "agent/cli/cli_place.h"

/* The nearest folder above dir that has a log of the user's at its default
 * place: a new string, or NULL. */
char *cli_lookup_above(const char *dir);

/* Return whether the folder has a log at the default path, of any user. */
bool cli_lookup_has_log(const char *dir);

/* Unless the log was named, or the folder has one: make place the nearest
 * folder above that has, and say so on standard error. */
void cli_lookup_place(struct cli_place *place);

/* A path that was given relative to the folder, as one relative to the folder
 * that was found. A new string. */
char *cli_lookup_path(const struct cli_place *place, const char *path);

#endif
