/* SPDX-License-Identifier: Apache-2.0
 *
 * state_place - whether a folder may hold state of this user: what a guest can
 * write is never configuration.
 */
#ifndef AGENT_BASE_STATE_PLACE_H
#define AGENT_BASE_STATE_PLACE_H

#include <glib.h>

/* Refuse a directory within a folder that was shared, which its undo log shows:
 * ERROR_INVALID_DIRECTORY. The directory need not exist. */
gboolean state_place_check(const char *path, GError **error);

/* Refuse an open directory that another user can change: ERROR_IO_ERROR. */
gboolean state_place_check_own(int fd, const char *path, GError **error);

#endif
