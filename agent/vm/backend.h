/* SPDX-License-Identifier: Apache-2.0
 *
 * backend - a file system daemon and the control connection to it.
 *
 * Threads: all on the main thread (see child.h).
 */
#ifndef AGENT_VM_BACKEND_H
#define AGENT_VM_BACKEND_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/client/control_link.h"
#include "agent/vm/backend_kind.h"
#include "interceptor/interceptor.h"

struct backend;

struct backend_config {
    enum backend_kind kind;
    const char *program; /* its path; NULL: it is not installed */
    const char *shared_dir;
    const char *undo_dir; /* NULL: no undo */
    bool read_only, allow_suid, allow_devices;
    bool host_ids; /* else the guest's root is who starts the server */
    enum ic_outside_policy outside_policy;
    const char *fs_socket;      /* QEMU connects there */
    const char *control_socket; /* the undo engine's */
    const char *log_level;
    unsigned timeout_ms; /* to be ready */
};

struct backend_callbacks {
    /* Both sockets are there and the control connection is made. */
    void (*ready)(struct backend *backend, void *opaque);
    /* An event of the undo engine; payload (borrowed) is an object. */
    void (*event)(struct backend *backend, const char *type, json_t *payload,
                  void *opaque);
    /* It has ended or does not answer (ERROR_BACKEND_FAILED).
     * clean: it ended by itself without an error, which virtiofs' does when
     * QEMU closes its connection. Called once. The backend must not be freed in
     * it. */
    void (*ended)(struct backend *backend, const GError *error, bool clean,
                  void *opaque);
};

/* Start the daemon; config is borrowed for the call. NULL and error:
 * ERROR_BACKEND_FAILED. */
struct backend *backend_new(const struct backend_config *config,
                            const struct backend_callbacks *callbacks,
                            void *opaque, GError **error);

/* If the daemon still runs, it is killed. NULL is allowed. */
void backend_free(struct backend *backend);

/* End the daemon, whose front-end is gone: it is given a moment for its log.
 * "ended" follows. */
void backend_stop(struct backend *backend);
void backend_kill(struct backend *backend);

/* Borrowed; set from "ready" on. */
struct control_link *backend_link(struct backend *backend);

/* Whether changes are kept, as the daemon said when it became ready. */
bool backend_has_undo(const struct backend *backend);

/* The greatest step id in use, as the daemon said when it became ready. */
gint64 backend_last_step_id(struct backend *backend);

#endif
