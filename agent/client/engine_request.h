/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_request - build the payloads of requests to an undo engine
 * (doc/control-protocol.md).
 *
 * All return a new object. settings_json.h has those of "configure" and
 * "safeguard.configure".
 */
#ifndef AGENT_CLIENT_ENGINE_REQUEST_H
#define AGENT_CLIENT_ENGINE_REQUEST_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/base/file_write.h"

json_t *engine_request_step_open(gint64 step_id, const char *command);

/* Close a step at the latest after max_ms; or at once, because no command has
 * run in it. settle: no other process writes ("step.close"). */
json_t *engine_request_step_close(gint64 step_id, int exit_code,
                                  unsigned max_ms, bool settle);
json_t *engine_request_step_close_unused(gint64 step_id);
json_t *engine_request_step_abort(gint64 step_id);

json_t *engine_request_history(unsigned limit);
json_t *engine_request_diff(gint64 step_id, unsigned first);
json_t *engine_request_discard(void);

/* "rollback", "preview" or "redo" of the newest steps; changed: steps without
 * changes do not count. Or down to a step. */
json_t *engine_request_undo(unsigned steps, bool changed, bool force);
json_t *engine_request_undo_down_to(gint64 step_id, bool force);

struct engine_restore {
    const GPtrArray *paths; /* of char * */
    gint64 down_to;         /* the oldest step; 0: by number */
    unsigned steps;
    bool force;
    gint64 step_id; /* of the new step; 0: report only */
};

json_t *engine_request_restore(const struct engine_restore *restore);

json_t *engine_request_write(const struct file_write *write, gint64 step_id);

/* Answer event.writers: the execution of each process (pids, of guint32); 0:
 * unknown. */
json_t *engine_request_writers(const GArray *pids, const gint64 *executions);

json_t *engine_request_confirm(const char *safeguard_id, bool allow);

#endif
