/* SPDX-License-Identifier: Apache-2.0
 *
 * session_daemon - see session_daemon.h.
 */
#include "agent/session/session_daemon.h"

#include <string.h>

#include "agent/session/session_core.h"
#include "agent/session/session_guard.h"
#include "agent/session/session_undo.h"
#include "agent/session/session_writers.h"

void session_on_folder_event(unsigned index, const char *type,
                             struct json_t *payload, void *opaque)
{
    struct session *session = opaque;
    struct session_event event = {
        .type = SESSION_EVENT_RELAYED,
        .name = type,
        .payload = payload,
        .directory = session->config->directories[index]->label,
    };
    g_autofree char *id = NULL;

    if (strcmp(type, "event.history_changed") == 0) {
        session_undo_take_event(session, index, payload);
    } else if (strcmp(type, "event.writers") == 0) {
        session_writers_ask(session, index, payload);
    } else if (strcmp(type, "event.warning") == 0) {
        session_warn(session, index,
                     warning_from_json(payload, event.directory));
    } else {
        id = session_guard_take_event(session, index, &event);
        session_send(session, &event);
    }
}
