/* SPDX-License-Identifier: Apache-2.0
 *
 * boot_trial - measure the start of a machine.
 *
 * Threads: on the main thread, whose default main loop it runs.
 */
#ifndef AGENT_VM_BOOT_TRIAL_H
#define AGENT_VM_BOOT_TRIAL_H

#include "agent/machine/machine.h"

struct boot_trial {
    struct machine_times times;
    enum accel accel;
    bool restored; /* it continued from its template, or the pool's */
    bool pooled;   /* it was taken from the pool */
};

/* Start a machine of this kind until its folders are mounted, then end it.
 * Fails with the errors of machine_new() and of its "failed" callback. */
gboolean boot_trial_run_kind(const struct machine_kind *kind,
                             const struct session_config *config,
                             struct boot_trial *ret_trial, GError **error);

/* The same for a virtual machine. */
gboolean boot_trial_run(const struct session_config *config,
                        struct boot_trial *ret_trial, GError **error);

/* Make the template of such a machine with this accelerator, unless it exists.
 * Fails with the errors of template_maker_run(). */
gboolean boot_trial_make_template(const struct session_config *config,
                                  enum accel accel, GError **error);

/* Start the same machine and kernel with an init that powers off at once;
 * ret_trial->times.ended is the result. config is changed during the call and
 * restored. The image must have busybox as /bin/busybox. */
gboolean boot_trial_run_floor(struct session_config *config,
                              struct boot_trial *ret_trial, GError **error);

/* Sort times (of gint64), and return their median; -1 if there are none. */
gint64 boot_trial_median(GArray *times);

#endif
