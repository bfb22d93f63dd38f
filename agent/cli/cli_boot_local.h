/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_boot_local - "stepback doctor --boot --isolation=local": measure the
 * parts of a local sandbox's start.
 */
#ifndef AGENT_CLI_CLI_BOOT_LOCAL_H
#define AGENT_CLI_CLI_BOOT_LOCAL_H

#include <glib.h>
#include <stdbool.h>

#include "agent/machine/session_config.h"

/* Start the given number of sandboxes, alternating with bubblewrap alone; print
 * the medians, with json as an object. Fails with the errors of
 * boot_trial_run_kind(). */
gboolean cli_boot_local(struct session_config *config, unsigned rounds,
                        bool json, GError **error);

#endif
