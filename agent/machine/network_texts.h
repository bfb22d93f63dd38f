/* SPDX-License-Identifier: Apache-2.0
 *
 * network_texts - what a user reads of stepback-net's events (net/control.h).
 */
#ifndef AGENT_MACHINE_NETWORK_TEXTS_H
#define AGENT_MACHINE_NETWORK_TEXTS_H

#include <jansson.h>
#include <stdbool.h>

#include "common/network_policy.h"

/* Return the warning (a new reference) for the payload (borrowed) of
 * event.refused or event.limited: its known members, a code, and a message,
 * which ret_text is set to (a new string), too. policy: the one in force; the
 * message names its exception. */
json_t *network_describe(const struct network_policy *policy, json_t *payload,
                         bool refused, char **ret_text);

#endif
