/* SPDX-License-Identifier: Apache-2.0
 *
 * isolation - the kind of machine that a configuration asks for.
 */
#ifndef AGENT_ISOLATION_ISOLATION_H
#define AGENT_ISOLATION_ISOLATION_H

#include "agent/machine/machine_kind.h"
#include "agent/machine/session_config.h"

const struct machine_kind *
isolation_machine_kind(const struct session_config *config);

#endif
