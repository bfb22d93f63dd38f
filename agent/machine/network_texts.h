/* SPDX-License-Identifier: Apache-2.0
 *
 * network_texts - what a user reads of stepback-net's events (net/control.h).
 */
#ifndef AGENT_MACHINE_NETWORK_TEXTS_H
#define AGENT_MACHINE_NETWORK_TEXTS_H

#include <jansson.h>

/* Describe the payload (borrowed) of event.refused: a new string. */
char *network_describe_refusal(json_t *payload);

/* Describe the payload of event.limited: a new string. */
char *network_describe_limit(json_t *payload);

#endif
