/* SPDX-License-Identifier: Apache-2.0
 *
 * exec - one command in the guest, which is one step of the undo log.
 *
 * The daemons open the step, the shim runs the command, the daemons close the
 * step and say what has changed. A cancelled command's step is closed like
 * any other: what it did can be undone.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_EXEC_H
#define AGENT_SESSION_EXEC_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/base/command.h"
#include "agent/client/control_link.h"
#include "agent/session/step_span.h"
#include "agent/vm/guest_channel.h"
#include "common/errors.h"

struct exec;

struct exec_callbacks {
    /* The guest is told to run the command. */
    void (*started)(const struct exec *exec, const struct command *command,
                    void *opaque);
    /* What it prints. False: that was dropped. */
    bool (*output)(const struct command *command,
                   const struct command_output *output, void *opaque);
    /* Its step is closed; "done" follows. report is borrowed. */
    void (*completed)(struct step_report *report, void *opaque);
    /* The command is over. report (borrowed) is NULL if error (borrowed) is
     * set. Called once; nothing is called after it. */
    void (*done)(struct exec *exec, struct step_report *report,
                 const GError *error, void *opaque);
    /* The guest did not end the command when told to, for so long that it
     * never will. exec_fail() is what is left to do. */
    void (*stuck)(struct exec *exec, void *opaque);
};

/* Start a command (taken) that guest_channel_check_command() has passed. The
 * logs' links and labels and the guest must live until done. */
struct exec *exec_new(gint64 step_id, struct command *command,
                      const struct step_logs *logs, struct guest_channel *guest,
                      const struct exec_callbacks *callbacks, void *opaque);

/* Give it up; if it is not over, nothing is called any more. */
void exec_free(struct exec *exec);

gint64 exec_step_id(const struct exec *exec);

/* Whether it was told to stop. */
bool exec_is_stopping(const struct exec *exec);

/* Stop the command: done follows with an error of this code once the step is
 * closed. ERROR_CANCELLED or ERROR_TIMEOUT; the first call counts. */
void exec_cancel(struct exec *exec, enum error_code reason);

/* The machine stands still, or goes on again: meanwhile no time passes for the
 * command. */
void exec_hold(struct exec *exec, bool hold);

/* A safeguard has denied the step in the log behind this link: the command is
 * stopped as by exec_cancel(), with ERROR_DENIED, and the step is taken back.
 */
void exec_deny(struct exec *exec, struct control_link *where);

/* Do not wait for the guest any more, which stands still for good: the step is
 * closed, and done follows. */
void exec_leave(struct exec *exec);

/* The guest or the daemon is gone: done is called at once with this error. */
void exec_fail(struct exec *exec, const GError *error);

/* What the guest says of the command. False: it does not fit (another id, or
 * the command is over already), and was ignored. */
bool exec_take_output(struct exec *exec, const struct command_output *output);
bool exec_take_completed(struct exec *exec, gint64 id,
                         const struct command_end *end);
bool exec_take_refused(struct exec *exec, gint64 id, const char *message);

#endif
