/* SPDX-License-Identifier: Apache-2.0
 *
 * session - the supervisor's only session.
 *
 * States: stopped -> starting -> running -> stopping -> stopped. If the machine
 * is lost, running becomes error, which session_stop() leaves. One command runs
 * at a time.
 *
 * Every operation answers exactly once through its done callback, never before
 * the call returns. Several parties may use the session at the same time (a
 * frontend, an MCP client); all of them receive its events.
 *
 * "directory" refers to a working folder; FOLDER_NONE is the first one or all
 * of them, by operation.
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
#include "agent/client/step_patch.h"
#include "agent/session/session_events.h"
#include "agent/session/undo_extent.h"
#include "agent/machine/guest_ports.h"
#include "agent/machine/session_config.h"

struct session;

/* callbacks (borrowed) may be NULL. */
struct session *session_new(const char *log_level,
                            const struct session_callbacks *callbacks,
                            void *opaque);

/* Add a listener for all events, until session_unlisten() with the same
 * arguments. callbacks is borrowed until then. */
void session_listen(struct session *session,
                    const struct session_callbacks *callbacks, void *opaque);
void session_unlisten(struct session *session,
                      const struct session_callbacks *callbacks, void *opaque);

/* Kill the running processes and answer waiting operations. Listeners may still
 * leave. */
void session_end(struct session *session);

/* Send a warning of the session itself to all listeners. */
void session_warn_text(struct session *session, const char *code,
                       const char *text);

/* End and free the session. NULL is allowed. */
void session_free(struct session *session);

/* config is taken. Errors: ERROR_SESSION_ACTIVE, and those of machine.h. */
void session_start(struct session *session, struct session_config *config,
                   reply_done done, void *opaque);

/* End the session in order; a running command is cancelled first. */
void session_stop(struct session *session, reply_done done, void *opaque);

/* End the session, discard its machine's disk, and start again with the same
 * configuration; the answer is that of session_start(). config (taken) must be
 * NULL if a session runs; otherwise it selects the machine. */
void session_reset(struct session *session, struct session_config *config,
                   reply_done done, void *opaque);

/* Kill all running processes. A pending session_stop() then completes soon. */
void session_kill(struct session *session);

void session_get_status(const struct session *session,
                        struct session_status *ret_status);

struct session_counters *session_counters(struct session *session);

/* Run a command (taken); the answer holds its report. Errors: ERROR_TOO_LARGE;
 * ERROR_INVALID_FIELD for a prompt without agent_command;
 * ERROR_VM_LAUNCH_FAILED if the guest's shim does not support it. */
void session_execute(struct session *session, struct command *command,
                     reply_done done, void *opaque);

/* Cancel the running command. Return false if none runs. */
bool session_cancel(struct session *session);

/* Replace the network policy (borrowed). The answer has "network_policy". Fails
 * with ERROR_INVALID_FIELD if the guest has no network card; with ERROR_BUSY if
 * there is an expected policy (borrowed, may be NULL), and the one in force is
 * another, or is being replaced. */
void session_configure_network(struct session *session,
                               const struct network_policy *policy,
                               const struct network_policy *expected,
                               reply_done done, void *opaque);

/* The network reports a refused connection once. If it did so when no client
 * wanted warnings, have it report such connections again; done is then called
 * later, with an error if it cannot. Return false if there is no need. */
bool session_warn_again(struct session *session, reply_done done, void *opaque);

/* Called by a client for a warning that session_send() sends: it gets it. */
void session_hear_warning(struct session *session);

/* What the guest's network carried: the answer's "relayed" is the payload of
 * network_get_status(). ERROR_NO_NETWORK without a network card. */
void session_network_status(struct session *session, reply_done done,
                            void *opaque);

/* The guest's connections: the answer's "relayed" is the payload of
 * network_get_connections(). ERROR_NO_NETWORK as above. */
void session_network_connections(struct session *session, reply_done done,
                                 void *opaque);

/* ---- ports --------------------------------------------------------------- */

/* Publish a port (borrowed), until the session ends; a reset keeps it. The
 * answer has it with its port of the host. Errors: ERROR_NO_NETWORK, and those
 * of published_ports.h. */
void session_port_add(struct session *session, const struct port_spec *spec,
                      reply_done done, void *opaque);

/* Close the port with this protocol, address and port of the host, and its
 * connections. The answer has it. ERROR_NOT_FOUND. */
void session_port_remove(struct session *session, const struct port_spec *spec,
                         reply_done done, void *opaque);

/* Get the published ports (a new array of struct port_spec), and the guest's
 * open ports (borrowed until the main loop runs). ERROR_NO_SESSION. */
gboolean session_port_list(struct session *session, GArray **ret_published,
                           const struct guest_ports **ret_open, GError **error);

/* ---- folders ------------------------------------------------------------- */

/* Share one more folder, until the session ends; a reset keeps it. The answer
 * has the directory. ERROR_BUSY or ERROR_STEP_ACTIVE unless no step is open;
 * ERROR_TOO_MANY_DIRECTORIES, ERROR_BACKEND_FAILED, and those of a start. */
void session_folder_add(struct session *session,
                        const struct session_share *share, reply_done done,
                        void *opaque);

/* Stop sharing a folder, but the first; later ones move down. force: even if a
 * process in the guest uses it, otherwise ERROR_BUSY. The answer has it. */
void session_folder_remove(struct session *session, struct folder_ref directory,
                           bool force, reply_done done, void *opaque);

/* ---- undo (doc/control-protocol.md defines the answers) ------------------ */

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

/* Diff the files that a step changed in a folder: the control protocol's
 * "diff". ERROR_MISSING_FIELD: there are several folders, and none was
 * named. */
void session_diff(struct session *session, struct folder_ref directory,
                  gint64 step, unsigned first, reply_done done, void *opaque);

/* The same as a patch for git(1); request (borrowed) wants at most
 * SESSION_PATCH_MAX bytes. */
enum { SESSION_PATCH_MAX = 4 << 20 };
void session_patch(struct session *session, struct folder_ref directory,
                   const struct patch_request *request, reply_done done,
                   void *opaque);

/* Undo by path: restore these paths (of char *) of one folder, as a new step,
 * to their state before the oldest step of the extent. dry: report only. The
 * answer is that of session_rollback() plus the new step, whose report also
 * goes to all listeners as event.step_completed. directory: FOLDER_NONE means
 * the first. */
void session_restore(struct session *session, struct folder_ref directory,
                     const struct undo_extent *extent, const GPtrArray *paths,
                     bool dry, reply_done done, void *opaque);

/* limits is borrowed. */
void session_configure(struct session *session, struct folder_ref directory,
                       const struct undo_limits *limits, reply_done done,
                       void *opaque);
void session_discard(struct session *session, struct folder_ref directory,
                     reply_done done, void *opaque);

/* Write a file (taken) as a step of type "api"; its report is the answer and
 * also an event for all listeners. Errors: ERROR_TOO_LARGE for more than
 * SESSION_WRITE_MAX bytes, ERROR_READ_ONLY_DIRECTORY. */
void session_write_file(struct session *session, struct folder_ref directory,
                        struct file_write *write, reply_done done,
                        void *opaque);

/* ---- safeguards ---------------------------------------------------------- */

/* rules (borrowed) apply until the session ends. */
void session_guard_configure(struct session *session,
                             const struct safeguard_rules *rules,
                             reply_done done, void *opaque);

/* id: the safeguard_id of an event.safeguard_triggered. */
void session_guard_confirm(struct session *session, const char *id, bool allow,
                           reply_done done, void *opaque);

/* ---- files --------------------------------------------------------------- */

/* The folder's status: the daemon's "status" plus the latest SESSION_WARNINGS
 * warnings about the folder ("warnings"). */
void session_folder_status(struct session *session, struct folder_ref directory,
                           reply_done done, void *opaque);

/* Return an O_PATH fd of the working folder. Borrowed; -1 and error
 * (ERROR_NO_SESSION, ERROR_INVALID_FIELD) on failure. */
int session_folder_fd(struct session *session, struct folder_ref directory,
                      GError **error);

#endif
