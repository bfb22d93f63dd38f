/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_event - parse what the session needs of an engine's events and status
 * (doc/control-protocol.md).
 *
 * Payloads are borrowed.
 */
#ifndef AGENT_CLIENT_ENGINE_EVENT_H
#define AGENT_CLIENT_ENGINE_EVENT_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* A warning of an engine or a machine (event.warning), or one that the session
 * adds about names. */
struct folder_warning {
    char *directory; /* the label of its folder, or NULL */
    char *code;      /* or NULL */
    char *message;   /* or NULL: malformed */
    json_t *relayed; /* its payload; NULL: of the session itself */
    /* About names; paths is NULL if it is not: */
    gint64 step_id;   /* of the change */
    GPtrArray *paths; /* of char *: some of them */
    gint64 count;     /* of all */
};

/* Parse a payload. label (may be NULL) is that of the folder. Returns a new
 * object. */
struct folder_warning *warning_from_json(json_t *payload, const char *label);
/* NULL is allowed. */
void folder_warning_free(struct folder_warning *warning);

/* event.safeguard_triggered or event.safeguard_decided; borrowed from the
 * payload. */
struct safeguard_event {
    const char *id;
    gint64 step_id;
    bool denied, confirmed; /* decided: with "deny"; by a client */
};

/* Return false if there is no id. */
bool safeguard_from_json(json_t *payload, struct safeguard_event *ret_event);

/* Return the processes that event.writers asks about, at most max of them: a
 * new array of guint32. */
GArray *writers_from_json(json_t *payload, guint max);

/* Part of the answer to "status". */
struct engine_status {
    bool has_undo; /* it records steps */
    gint64 last_step_id;
    guint64 share_dev, share_ino; /* of the folder that it serves */
    const char *safeguard_id;     /* of the pending decision, borrowed from the
                                     payload; or NULL */
};

/* payload may be NULL. */
struct engine_status engine_status_from_json(json_t *payload);

#endif
