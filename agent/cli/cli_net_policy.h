/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_net_policy - show and change the network policy of a running sandbox.
 */
#ifndef AGENT_CLI_CLI_NET_POLICY_H
#define AGENT_CLI_CLI_NET_POLICY_H

#include <stdbool.h>

/* Return whether the word is one of: policy, allow, deny, rm. */
bool cli_net_policy_is_verb(const char *word);

/* Carry out "VERB [ENTRY...]" (words, ended by NULL) on the sandbox of this
 * name (NULL: of the current directory). Return the exit code. */
int cli_net_policy(const char *name, char **words, bool json);

#endif
