/* SPDX-License-Identifier: Apache-2.0
 *
 * exec - run a guest command, as one step of the undo logs or without a step.
 *
 * With a step: the daemons open it, the shim runs the command, the daemons
 * close the step and report the changes. The step of a cancelled command is
 * closed normally, so its changes can be undone.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_EXEC_H
#define AGENT_SESSION_EXEC_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/base/command.h"
#include "agent/base/reply.h"
#include "agent/client/control_link.h"
#include "agent/session/step_span.h"
#include "agent/machine/guest_channel.h"
#include "common/errors.h"

struct exec;

struct exec_callbacks {
    /* The command was sent to the guest. */
    void (*started)(const struct exec *exec, const struct command *command,
                    void *opaque);
    /* Output of the command. Return false if it was dropped. The owner calls
     * exec_consume() for it, now or later. */
    bool (*output)(struct exec *exec, const struct command_output *output,
                   void *opaque);
    /* The step is closed; "done" follows. report is borrowed. */
    void (*completed)(const struct exec *exec, struct step_report *report,
                      void *opaque);
    /* The command is over. report (borrowed) is NULL without a step, and if its
     * close failed; a command that was cancelled has both a report and an error
     * (borrowed). Called once, as the last callback. */
    void (*done)(struct exec *exec, struct step_report *report,
                 const GError *error, void *opaque);
    /* The guest has not ended the command within the grace period after the
     * cancel and is taken to hang. The owner must call exec_fail(). */
    void (*stuck)(struct exec *exec, void *opaque);
};

/* Prepare a command (taken) that guest_channel_check_command() has accepted.
 * The guest must outlive "done". */
struct exec *exec_new(gint64 id, struct command *command,
                      struct guest_channel *guest,
                      const struct exec_callbacks *callbacks, void *opaque);

/* Start it, as a step or without one. The links and labels of the logs must
 * outlive "done". */
void exec_start_step(struct exec *exec, gint64 step_id,
                     const struct step_logs *logs);
void exec_start(struct exec *exec);

/* The answer to a step's opening (report is NULL) or closing; both borrowed. A
 * report with an error: the step was cancelled, or denied and rolled back. */
typedef void (*exec_step_done)(struct step_report *report, const GError *error,
                               void *opaque);

/* Open a step within a running command without one, and close it. is_line: of a
 * line that was typed at the shell's prompt; a denial ends it. A second call
 * must wait for "done", which is not called if the command ends first; the step
 * is closed then. opaque is that of exec_new(). */
void exec_open_step(struct exec *exec, gint64 step_id, const char *text,
                    bool is_line, const struct step_logs *logs,
                    exec_step_done done);
void exec_close_step(struct exec *exec, const struct command_end *end,
                     exec_step_done done);

/* A folder was added: as step_span_join(), if a step is open, or is being
 * opened. */
bool exec_join_step(struct exec *exec, gint64 step_id,
                    struct control_link *link, const char *label,
                    step_span_joined done, void *opaque);

/* Free the object; no callback follows. */
void exec_free(struct exec *exec);

gint64 exec_id(const struct exec *exec);
/* 0: it has no step, or not yet. */
gint64 exec_step_id(const struct exec *exec);
/* Return whether its step has this id, in one of its logs at least. */
bool exec_has_step(const struct exec *exec, gint64 step_id);
const struct command *exec_command(const struct exec *exec);

/* Return whether the command has not been started yet. */
bool exec_is_waiting(const struct exec *exec);
/* Return whether the command was started and has not ended. */
bool exec_is_running(const struct exec *exec);

/* Output was passed on, so that more may come. */
void exec_consume(struct exec *exec, size_t len);

/* As exec_flow_input(). */
gboolean exec_input(struct exec *exec, GBytes *data, bool eof, reply_done done,
                    void *opaque, GError **error);

/* Return how the command ended: exit_code is -1 if that is unknown. */
struct command_end exec_end(const struct exec *exec);

/* Return whether the command, or the step in it that is open, was asked to
 * stop. */
bool exec_is_stopping(const struct exec *exec);

/* Stop the command: "done" follows with this error code once the step is
 * closed. reason is ERROR_CANCELLED or ERROR_TIMEOUT; only the first call
 * counts. */
void exec_cancel(struct exec *exec, enum error_code reason);

/* Stop what belongs to the open step: in a shell whose lines are steps, the
 * line's foreground job; else the command, as exec_cancel() does. */
void exec_cancel_step(struct exec *exec);

/* Suspend the command's timers while the machine is held. */
void exec_hold(struct exec *exec, bool hold);

/* A safeguard has denied the step in the log behind this link: stop the command
 * as exec_cancel() does, with ERROR_DENIED, and roll the step back. Of a step
 * that is a part of the command, only a shell's line is ended; anything else
 * goes on, and can change nothing in this step. */
void exec_deny(struct exec *exec, struct control_link *where);

/* Stop waiting for a guest that is held for good: close the step; "done"
 * follows. */
void exec_leave(struct exec *exec);

/* The guest or the daemon is gone: "done" is called at once with this error. */
void exec_fail(struct exec *exec, const GError *error);

/* Messages of the guest about the command. Return false if the message does not
 * apply (the command is not running) and was ignored. */
bool exec_take_output(struct exec *exec, const struct command_output *output);
bool exec_take_completed(struct exec *exec, const struct command_end *end);
bool exec_take_input_taken(struct exec *exec, size_t bytes);
bool exec_take_refused(struct exec *exec, const char *message);

#endif
