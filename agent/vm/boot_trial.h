/* SPDX-License-Identifier: Apache-2.0
 *
 * boot_trial - start a machine to see how long that takes, and end it.
 *
 * Threads: on the main thread, whose default main loop it runs.
 */
#ifndef AGENT_VM_BOOT_TRIAL_H
#define AGENT_VM_BOOT_TRIAL_H

#include "agent/vm/machine.h"

struct boot_trial {
    struct machine_times times;
    enum accel accel;
};

/* Until the folders are mounted. Errors as of machine_new(), and what its
 * "failed" says. */
gboolean boot_trial_run(const struct session_config *config,
                        struct boot_trial *ret_trial, GError **error);

/* The same machine with the same kernel, whose first program powers off at
 * once: ret_trial->times.ended tells when. What it adds to config is taken
 * out again. Needs an image with busybox as /bin/busybox. */
gboolean boot_trial_run_floor(struct session_config *config,
                              struct boot_trial *ret_trial, GError **error);

#endif
