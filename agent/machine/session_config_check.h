/* SPDX-License-Identifier: Apache-2.0
 *
 * session_config_check - check that a session may use its folders, ports and
 * memory.
 */
#ifndef AGENT_MACHINE_SESSION_CONFIG_CHECK_H
#define AGENT_MACHINE_SESSION_CONFIG_CHECK_H

#include "agent/machine/session_config.h"

/* Check that a virtual machine has at most the memory of the host. Fails with
 * ERROR_INVALID_FIELD. */
gboolean session_config_check_memory(const struct session_config *config,
                                     GError **error);

/* Fail with ERROR_INVALID_FIELD, as local isolation boots no image and has no
 * accelerator: for callers that know that the user has given one. */
gboolean session_config_refuse_image(const struct session_config *config,
                                     const char *image, GError **error);
gboolean session_config_refuse_accel(GError **error);

/* Check a configuration, and complete its folders. Fails with
 * ERROR_INVALID_FIELD, ERROR_INVALID_DIRECTORY or ERROR_NO_NETWORK. */
gboolean session_config_check(const struct session_config *config,
                              GError **error);

/* The same for the last folder, which is added to a running session: it gets a
 * label, a tag and a path in the guest that no other folder has. */
gboolean session_config_check_added(struct session_config *config,
                                    GError **error);

#endif
