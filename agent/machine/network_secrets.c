/* SPDX-License-Identifier: Apache-2.0
 *
 * network_secrets - see network_secrets.h.
 */
#include "agent/machine/network_secrets.h"

#include "agent/machine/secret.h"
#include "common/json_strings.h"

json_t *network_secrets_to_json(const GPtrArray *secrets)
{
    json_t *list = json_array();

    for (guint i = 0; i < secrets->len; i++) {
        const struct secret *secret = g_ptr_array_index(secrets, i);

        if (secret->value)
            json_array_append_new(
                list,
                json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", secret->name,
                          "placeholder", secret->placeholder, "value",
                          secret->value, "hosts", json_strings(secret->hosts),
                          "headers", json_strings(secret->headers)));
    }
    return list;
}
