/* SPDX-License-Identifier: Apache-2.0
 *
 * backends - the file system daemons of a session, one per folder.
 *
 * Folders are identified by their index in the session's configuration. Folders
 * can come and go; the removal of one moves the later ones down.
 *
 * Threads: all on the main thread (see child.h).
 */
#ifndef AGENT_MACHINE_BACKENDS_H
#define AGENT_MACHINE_BACKENDS_H

#include <glib.h>
#include <stdbool.h>

#include "agent/client/control_link.h"
#include "agent/machine/launch.h"
#include "agent/machine/session_config.h"

struct backends;

struct backends_callbacks {
    /* All daemons are ready. */
    void (*ready)(void *opaque);
    /* As in backend.h, for the folder with this index. */
    void (*event)(unsigned index, const char *type, json_t *payload,
                  void *opaque);
    /* As backend_notify_new(), for the folder with this index. */
    void (*refresh)(unsigned index, gint64 id, json_t *message, void *opaque);
    /* One daemon has ended (backend.h); backends_run() returns whether others
     * still run. The callback must not free the backends. */
    void (*ended)(const GError *error, bool clean, void *opaque);
};

/* Start all daemons; config and launch are borrowed for the call. On failure
 * return NULL with ERROR_BACKEND_FAILED. */
struct backends *backends_new(const struct session_config *config,
                              const struct launch *launch,
                              const char *log_level,
                              const struct backends_callbacks *callbacks,
                              void *opaque, GError **error);

/* The answer to a request; error (borrowed) is NULL on success. The callback
 * must not free the backends. */
typedef void (*backends_done)(const GError *error, void *opaque);

/* Start one more daemon, for the configuration's last folder. done follows when
 * it is ready; after an error the folder is not among the backends. On failure
 * return FALSE with ERROR_BACKEND_FAILED, without a call of done. */
gboolean backends_add(struct backends *backends,
                      const struct session_config *config,
                      const struct launch *launch, const char *log_level,
                      backends_done done, void *opaque, GError **error);

/* The folder's daemon has, or soon gets, a front-end. */
void backends_note_used(struct backends *backends, unsigned index);

/* The folder will be removed: from now on the end of its daemon is expected. */
void backends_expect_end(struct backends *backends, unsigned index);

/* It stays after all. If it has ended since, report that. */
void backends_expect_no_end(struct backends *backends, unsigned index);

/* After backends_expect_end(), and when the daemon's front-end has gone: wait
 * until the daemon has closed its log and ended, and remove the folder. done
 * follows. */
void backends_remove(struct backends *backends, unsigned index,
                     backends_done done, void *opaque);

/* Free all; running daemons are killed. NULL is allowed. */
void backends_free(struct backends *backends);

/* End the running daemons; "ended" follows for each. */
void backends_stop(struct backends *backends);
void backends_kill(struct backends *backends);

/* Return whether any daemon runs. NULL is allowed: none runs. */
bool backends_run(const struct backends *backends);

/* Borrowed; set from "ready" on. */
struct control_link *backends_link(struct backends *backends, unsigned index);

/* Call control_link_close() for all links. NULL is allowed. */
void backends_close_links(struct backends *backends);

/* As backend_notify_keep() and backend_notify_told(). */
void backends_keep_names(struct backends *backends, unsigned index);
bool backends_told_names(struct backends *backends, unsigned index, gint64 id,
                         bool ok);
/* As backend_notify_pause(), for all. */
void backends_pause_names(struct backends *backends, bool paused);

/* Return whether the folder's changes are recorded; false: it has no daemon
 * yet. */
bool backends_has_undo(const struct backends *backends, unsigned index);

/* Note that the folder's log was recreated, so undo is available now. */
void backends_set_undo(struct backends *backends, unsigned index);

/* Return the greatest step id in use in any folder, or in one. */
gint64 backends_last_step_id(const struct backends *backends);
gint64 backends_last_step_id_of(const struct backends *backends,
                                unsigned index);

#endif
