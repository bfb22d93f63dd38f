/* SPDX-License-Identifier: Apache-2.0
 *
 * session_config_check - see session_config_check.h.
 */
#include "agent/vm/session_config_check.h"

#include "agent/vm/share_check.h"

gboolean session_config_check(const struct session_config *config,
                              GError **error)
{
    return session_directory_complete(config->directories,
                                      config->n_directories, error) &&
           share_check_secrets(config, &config->network, error) &&
           session_directory_check_apart(config->directories,
                                         config->n_directories, error);
}
