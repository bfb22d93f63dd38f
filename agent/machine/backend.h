/* SPDX-License-Identifier: Apache-2.0
 *
 * backend - a file system daemon and its control connection.
 *
 * Threads: all on the main thread (see child.h).
 */
#ifndef AGENT_MACHINE_BACKEND_H
#define AGENT_MACHINE_BACKEND_H

#include <glib.h>
#include <stdbool.h>

#include "agent/client/control_link.h"
#include "agent/machine/backend_kind.h"
#include "interceptor/interceptor.h"

struct backend;

struct backend_config {
    enum backend_kind kind;
    const char *program; /* path; NULL: not installed */
    const char *shared_dir;
    guint64 share_dev, share_ino; /* it must be this folder; 0: any */
    const char *undo_dir;         /* NULL: no undo */
    bool read_only, allow_suid, allow_devices;
    bool host_ids; /* false: the guest's root maps to the user who started the
                      server */
    enum ic_outside_policy outside_policy;
    const char *fs_socket; /* QEMU connects to it */
    int fuse_fd; /* serves this open /dev/fuse (borrowed) instead; or -1 */
    bool holds_signals;         /* launch.h */
    bool slow_requests;         /* launch.h */
    const char *control_socket; /* of the undo engine */
    const char *log_level;
    unsigned timeout_ms; /* until the daemon must be ready */
};

struct backend_callbacks {
    /* Both sockets exist and the control connection is established. */
    void (*ready)(struct backend *backend, void *opaque);
    /* An event of the undo engine; payload (borrowed) is an object. */
    void (*event)(struct backend *backend, const char *type, json_t *payload,
                  void *opaque);
    /* As backend_notify_new(). */
    void (*refresh)(struct backend *backend, gint64 id, json_t *message,
                    void *opaque);
    /* The daemon has ended or does not answer (ERROR_BACKEND_FAILED). clean: it
     * ended by itself without an error, as the virtiofs daemon does when QEMU
     * closes its connection. Called once. The callback must not free the
     * backend. */
    void (*ended)(struct backend *backend, const GError *error, bool clean,
                  void *opaque);
};

/* Start the daemon; config is borrowed for the call. On failure return NULL
 * with ERROR_BACKEND_FAILED. */
struct backend *backend_new(const struct backend_config *config,
                            const struct backend_callbacks *callbacks,
                            void *opaque, GError **error);

/* Free the backend; a running daemon is killed. NULL is allowed. */
void backend_free(struct backend *backend);

/* The daemon has, or soon gets, a front-end. */
void backend_note_used(struct backend *backend);

/* End the daemon after its front-end has gone, with a grace period for closing
 * its log. "ended" follows. */
void backend_stop(struct backend *backend);
void backend_kill(struct backend *backend);

/* As backend_notify_keep(), backend_notify_pause() and backend_notify_told().
 */
void backend_keep_names(struct backend *backend);
void backend_pause_names(struct backend *backend, bool paused);
bool backend_told_names(struct backend *backend, gint64 id, bool ok);

/* Borrowed; set from "ready" on. */
struct control_link *backend_link(struct backend *backend);

/* Return whether changes are recorded, as reported when the daemon became
 * ready. */
bool backend_has_undo(const struct backend *backend);

/* Return the greatest step id in use, as reported when the daemon became
 * ready. */
gint64 backend_last_step_id(struct backend *backend);

#endif
