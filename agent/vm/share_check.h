/* SPDX-License-Identifier: Apache-2.0
 *
 * share_check - refuse working folders that would open the host to the guest.
 *
 * There are two dangers. A guest with an open network can send keys and tokens
 * from a home folder anywhere. And a guest that can write a program, a library
 * or an image that the host uses would be run, or believed, by the host.
 * --force-share ("force_share" in the API) lifts both checks.
 */
#ifndef AGENT_VM_SHARE_CHECK_H
#define AGENT_VM_SHARE_CHECK_H

#include <glib.h>

#include "agent/vm/session_config.h"

/* Refuse a folder with the user's keys while this policy opens the network.
 * FALSE and error: ERROR_INVALID_DIRECTORY. */
gboolean share_check_secrets(const struct session_config *config,
                             const struct network_policy *policy,
                             GError **error);

/* Refuse a file that the guest could replace. what names it in the message;
 * path may be NULL. FALSE and error: ERROR_INVALID_DIRECTORY. */
gboolean share_check_file(const struct session_config *config, const char *what,
                          const char *path, GError **error);

/* The same for what the host would believe: --force-share does not lift it. */
gboolean share_check_state(const struct session_config *config,
                           const char *what, const char *path, GError **error);

/* Refuse as share_check_file() this program and the libraries that it has
 * loaded. */
gboolean share_check_self(const struct session_config *config, GError **error);

#endif
