/* SPDX-License-Identifier: Apache-2.0
 *
 * backends - the file system daemons of a session, one for each folder.
 *
 * Folders go by their index in the session's configuration.
 *
 * Threads: all on the main thread (see child.h).
 */
#ifndef AGENT_VM_BACKENDS_H
#define AGENT_VM_BACKENDS_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/client/control_link.h"
#include "agent/vm/launch.h"
#include "agent/vm/session_config.h"

struct backends;

struct backends_callbacks {
    /* All are ready. */
    void (*ready)(void *opaque);
    /* As in backend.h, of the folder with this index. */
    void (*event)(unsigned index, const char *type, json_t *payload,
                  void *opaque);
    /* One has ended (backend.h); backends_run() tells whether others have not.
     * The backends must not be freed in it. */
    void (*ended)(const GError *error, bool clean, void *opaque);
};

/* Start all daemons; config and launch are borrowed for the call. NULL and
 * error: ERROR_BACKEND_FAILED. */
struct backends *backends_new(const struct session_config *config,
                              const struct launch *launch,
                              const char *log_level,
                              const struct backends_callbacks *callbacks,
                              void *opaque, GError **error);

/* What runs is killed. NULL is allowed. */
void backends_free(struct backends *backends);

/* End those that run; "ended" follows for each. */
void backends_stop(struct backends *backends);
void backends_kill(struct backends *backends);

/* Whether any runs. NULL: none does. */
bool backends_run(const struct backends *backends);

/* Borrowed; set from "ready" on. */
struct control_link *backends_link(struct backends *backends, unsigned index);

/* control_link_close() for all of them. NULL is allowed. */
void backends_close_links(struct backends *backends);

/* Whether the folder's changes are kept. */
bool backends_has_undo(const struct backends *backends, unsigned index);

/* The folder's log was begun anew: there is undo now. */
void backends_set_undo(struct backends *backends, unsigned index);

/* The greatest step id in use anywhere. */
gint64 backends_last_step_id(const struct backends *backends);

#endif
