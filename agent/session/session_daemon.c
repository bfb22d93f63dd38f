/* SPDX-License-Identifier: Apache-2.0
 *
 * session_daemon - see session_daemon.h.
 */
#include "agent/session/session_daemon.h"

#include <string.h>

#include "agent/client/report_json.h"
#include "agent/session/session_core.h"
#include "agent/session/session_guard.h"
#include "agent/session/session_undo.h"
#include "agent/session/session_writers.h"

void session_on_folder_event(unsigned index, const char *type, json_t *payload,
                             void *opaque)
{
    struct session *session = opaque;
    const char *label = session->config->directories[index]->label;
    json_t *copy;

    if (strcmp(type, "event.history_changed") == 0) {
        session_undo_take_event(session, index, payload);
        return;
    }
    if (strcmp(type, "event.writers") == 0) {
        session_writers_ask(session, index, payload);
        return;
    }
    copy = payload ? json_deep_copy(payload) : json_object();
    label_json(copy, label);
    session_guard_take_event(session, index, type, copy);
    if (strcmp(type, "event.warning") == 0)
        session_keep_warning(session, index, copy);
    session_send_event(session, type, copy, false);
}
