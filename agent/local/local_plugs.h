/* SPDX-License-Identifier: Apache-2.0
 *
 * local_plugs - the folders of a running local sandbox: machine_kind.h.
 *
 * A folder's slot is a number that no other has; those of the start have their
 * index.
 */
#ifndef AGENT_LOCAL_LOCAL_PLUGS_H
#define AGENT_LOCAL_LOCAL_PLUGS_H

#include "agent/machine/machine_kind.h"
#include "agent/machine/session_config.h"

struct local_machine;

/* Refuse folders that local isolation has no place for, or that contain what it
 * uses: as local_check_config(). */
gboolean local_plugs_check_shares(const struct local_machine *own,
                                  const struct session_config *config,
                                  GError **error);

extern const struct machine_plugs local_plugs;

#endif
