/* SPDX-License-Identifier: Apache-2.0
 *
 * network_secrets - the secrets of a sandbox, for its proxy.
 */
#ifndef AGENT_MACHINE_NETWORK_SECRETS_H
#define AGENT_MACHINE_NETWORK_SECRETS_H

#include <glib.h>
#include <jansson.h>

/* Return the list of proxy/secrets.h, with the values: a new one. secrets: of
 * struct secret; those without a value are left out. */
json_t *network_secrets_to_json(const GPtrArray *secrets);

#endif
