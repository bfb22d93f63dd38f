/* SPDX-License-Identifier: Apache-2.0
 *
 * session_request - see session_request.h.
 */
#include "agent/vm/session_request.h"

#include "agent/vm/share_check.h"

struct session_config *session_request_parse(json_t *payload, GError **error)
{
    struct session_config *config = session_config_read(payload, error);

    if (config && share_check_secrets(config, &config->network, error) &&
        session_directory_check_apart(config->directories,
                                      config->n_directories, error))
        return config;
    session_config_free(config);
    return NULL;
}
