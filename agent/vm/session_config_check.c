/* SPDX-License-Identifier: Apache-2.0
 *
 * session_config_check - see session_config_check.h.
 */
#include "agent/vm/session_config_check.h"

#include "agent/vm/share_check.h"
#include "common/errors.h"

static gboolean check_ports(const struct session_config *config, GError **error)
{
    if (config->ports->len > 0 && config->network.kind == NETWORK_DISABLED)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_NO_NETWORK,
                            "a guest without a network card cannot publish "
                            "ports; to block everything else, use a list of "
                            "networks that is empty: --network='' "
                            "({\"allow\":[]} in the API)");
    else if (config->ports->len > PORT_SPEC_MAX)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "a sandbox can publish at most %d ports", PORT_SPEC_MAX);
    else
        return TRUE;
    return FALSE;
}

gboolean session_config_check(const struct session_config *config,
                              GError **error)
{
    return check_ports(config, error) &&
           session_directory_complete(config->directories,
                                      config->n_directories, error) &&
           share_check_secrets(config, &config->network, error) &&
           session_directory_check_apart(config->directories,
                                         config->n_directories, error);
}
