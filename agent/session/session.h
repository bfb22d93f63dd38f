/* SPDX-License-Identifier: Apache-2.0
 *
 * session - the one session of the agent.
 *
 * States: stopped -> starting -> running -> stopping -> stopped; a machine
 * that is lost leads from running to error, which session_stop() leaves. One
 * command runs at a time.
 *
 * Every operation answers exactly once, by its done, never before it returns.
 * Several parties may use one session at a time (a frontend, an MCP client);
 * all of them get its events.
 *
 * "directory" says which working folder is meant; FOLDER_NONE is the first one,
 * or all.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_SESSION_H
#define AGENT_SESSION_SESSION_H

#include <glib.h>
#include <stdbool.h>

#include "agent/base/file_write.h"
#include "agent/base/folder_ref.h"
#include "agent/base/reply.h"
#include "agent/session/session_events.h"
#include "agent/session/undo_extent.h"
#include "agent/vm/session_config.h"

struct session;

struct session *session_new(const char *log_level,
                            const struct session_callbacks *callbacks,
                            void *opaque);

/* Somebody else who gets all events from now on, until session_unlisten() with
 * the same arguments. callbacks is borrowed until then. */
void session_listen(struct session *session,
                    const struct session_callbacks *callbacks, void *opaque);
void session_unlisten(struct session *session,
                      const struct session_callbacks *callbacks, void *opaque);

/* What still runs is killed; operations that wait are answered. */
void session_free(struct session *session);

/* config is taken. ERROR_SESSION_ACTIVE, and as in machine.h. */
void session_start(struct session *session, struct session_config *config,
                   reply_done done, void *opaque);

/* End the session in order; a command that runs is cancelled first. */
void session_stop(struct session *session, reply_done done, void *opaque);

/* End the session, forget its machine's disk, and start it again as it was; the
 * answer is session_start()'s. config (taken) is NULL for that; where no
 * session runs it says which machine is meant. */
void session_reset(struct session *session, struct session_config *config,
                   reply_done done, void *opaque);

/* End what runs at once. A session_stop() under way then ends soon. */
void session_kill(struct session *session);

void session_get_status(const struct session *session,
                        struct session_status *ret_status);

/* Borrowed. */
struct session_counters *session_counters(struct session *session);

/* Run a command (taken): the answer is its report. ERROR_TOO_LARGE,
 * ERROR_INVALID_FIELD if it is a prompt and the session has no agent_command,
 * ERROR_VM_LAUNCH_FAILED if the guest's shim cannot take it. */
void session_execute(struct session *session, struct command *command,
                     reply_done done, void *opaque);

/* Cancel the command. False if none runs. */
bool session_cancel(struct session *session);

/* From now on the guest may reach what policy (borrowed) says. The answer has
 * "network_policy". ERROR_INVALID_FIELD if it has no network card. */
void session_configure_network(struct session *session,
                               const struct network_policy *policy,
                               reply_done done, void *opaque);

/* ---- undo (doc/control-protocol.md has the answers and their data) --------
 */

void session_rollback(struct session *session, struct folder_ref directory,
                      const struct undo_extent *extent, reply_done done,
                      void *opaque);
void session_redo(struct session *session, struct folder_ref directory,
                  const struct undo_extent *extent, reply_done done,
                  void *opaque);
void session_preview(struct session *session, struct folder_ref directory,
                     const struct undo_extent *extent, reply_done done,
                     void *opaque);
void session_history(struct session *session, struct folder_ref directory,
                     unsigned limit, reply_done done, void *opaque);

/* What a step changed in a folder's files: the control protocol's "diff".
 * ERROR_MISSING_FIELD: several folders, and none named. */
void session_diff(struct session *session, struct folder_ref directory,
                  gint64 step, unsigned first, reply_done done, void *opaque);

/* Undo by path: restore these paths (of char *) of one folder, as a new step,
 * to what they were before the oldest step of the extent; dry: tell what would
 * change. The answer is that of session_rollback(), with the new step, whose
 * report also goes to all, as event.step_completed. directory: NULL for the
 * first. */
void session_restore(struct session *session, struct folder_ref directory,
                     const struct undo_extent *extent, const GPtrArray *paths,
                     bool dry, reply_done done, void *opaque);

/* limits is borrowed. */
void session_configure(struct session *session, struct folder_ref directory,
                       const struct undo_limits *limits, reply_done done,
                       void *opaque);
void session_discard(struct session *session, struct folder_ref directory,
                     reply_done done, void *opaque);

/* Write a file (taken) as a step of type "api"; its report is the answer and,
 * as an event, goes to all. ERROR_TOO_LARGE for more than SESSION_WRITE_MAX
 * bytes, ERROR_READ_ONLY_DIRECTORY. */
void session_write_file(struct session *session, struct folder_ref directory,
                        struct file_write *write, reply_done done,
                        void *opaque);

/* ---- safeguards -----------------------------------------------------------
 */

/* rules (borrowed) hold until the session ends. */
void session_guard_configure(struct session *session,
                             const struct safeguard_rules *rules,
                             reply_done done, void *opaque);

/* id: the safeguard_id of an event.safeguard_triggered. */
void session_guard_confirm(struct session *session, const char *id, bool allow,
                           reply_done done, void *opaque);

/* ---- files -----------------------------------------------------------------
 */

/* What is to be known of a folder: the daemon's "status", and the warnings
 * about it ("warnings", the newest SESSION_WARNINGS). */
void session_folder_status(struct session *session, struct folder_ref directory,
                           reply_done done, void *opaque);

/* An O_PATH fd of the working folder. Borrowed; -1 and error
 * (ERROR_NO_SESSION, ERROR_INVALID_FIELD) if there is none. */
int session_folder_fd(struct session *session, struct folder_ref directory,
                      GError **error);

#endif
