/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_stop - end sandboxes.
 */
#ifndef AGENT_CLI_CLI_STOP_H
#define AGENT_CLI_CLI_STOP_H

#include "agent/sandbox/sandbox_record.h"

enum cli_stop_how {
    CLI_STOP_IN_ORDER, /* close the step, and stop the machine */
    CLI_STOP_AT_ONCE,  /* kill the machine */
};

/* End a sandbox that may run, and wait until it is unlocked. A supervisor that
 * has not ended by itself after timeout_s is killed. On failure return FALSE
 * with ERROR_TIMEOUT. */
gboolean cli_stop_sandbox(const struct sandbox_record *record,
                          enum cli_stop_how how, gint64 timeout_s,
                          GError **error);

#endif
