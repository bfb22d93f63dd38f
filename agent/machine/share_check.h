/* SPDX-License-Identifier: Apache-2.0
 *
 * share_check - refuse working folders that would expose the host to the guest.
 *
 * There are two dangers. A guest with an open network can send keys and tokens
 * from a home folder anywhere. A guest that can write a program, a library or
 * an image that the host uses makes the host run or trust its content.
 * --force-share ("force_share" in the API) disables both checks.
 */
#ifndef AGENT_MACHINE_SHARE_CHECK_H
#define AGENT_MACHINE_SHARE_CHECK_H

#include <glib.h>

#include "agent/machine/session_config.h"

/* Return the first of these folders (NULL-terminated, without symlinks) in
 * which path lies: itself, its target, or a link on the way, any of which the
 * guest could replace. Borrowed; NULL: none. */
const char *share_check_find(const char *const *folders, const char *path);

/* List the folders that the guest, or an assistant that it misleads, can write:
 * a new NULL-terminated array of borrowed strings. */
const char **share_check_writable(const struct session_config *config);

/* Refuse a folder with the user's keys if this policy opens the network. On
 * failure return FALSE with ERROR_INVALID_DIRECTORY. */
gboolean share_check_secrets(const struct session_config *config,
                             const struct network_policy *policy,
                             GError **error);

/* Refuse a file that the guest could replace. what names it in the message;
 * path may be NULL. On failure return FALSE with ERROR_INVALID_DIRECTORY. */
gboolean share_check_file(const struct session_config *config, const char *what,
                          const char *path, GError **error);

/* The same for state that the host trusts: --force-share does not disable
 * it. */
gboolean share_check_state(const struct session_config *config,
                           const char *what, const char *path, GError **error);

/* Apply share_check_file() to this program and its loaded libraries. */
gboolean share_check_self(const struct session_config *config, GError **error);

#endif
