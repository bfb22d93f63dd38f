/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_client - access to a folder's undo log for the command line.
 *
 * If no process uses the log, the engine is opened in this process and spoken
 * to over a socket pair; if a daemon uses it, over the daemon's control socket.
 * Both ways speak the same protocol, so one implementation serves both.
 *
 * Threads: use it from the main thread. The engine has its own threads.
 */
#ifndef AGENT_CLIENT_UNDO_CLIENT_H
#define AGENT_CLIENT_UNDO_CLIENT_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

struct undo_client;

/* Called for the engine's events; payload (borrowed) is an object. */
typedef void (*undo_client_event)(const char *type, json_t *payload);

/* The treatment of an unfinished step if the log is opened here. */
enum undo_client_purpose {
    UNDO_CLIENT_CHANGE,  /* roll it back */
    UNDO_CLIENT_INSIST,  /* roll it back, or keep it if it belongs to another
                            folder */
    UNDO_CLIENT_LOOK,    /* keep it; the log is read-only */
    UNDO_CLIENT_DISCARD, /* keep it, to be discarded */
};

/* dir: the folder. undo_dir: NULL for the default log path. On failure return
 * NULL and error; ERROR_NOTHING_TO_UNDO if there is no log. */
struct undo_client *undo_client_open(const char *dir, const char *undo_dir,
                                     enum undo_client_purpose purpose,
                                     undo_client_event event, GError **error);
/* Return the report of the step that opening the log here rolled back (a new
 * reference), or NULL. */
json_t *undo_client_recovered(struct undo_client *client);

/* Return the report of the step whose interrupted redo was finished by opening
 * the log here (a new reference), or NULL. */
json_t *undo_client_redone(struct undo_client *client);

/* Return the report of the unfinished step that opening the log kept
 * (UNDO_CLIENT_LOOK, _DISCARD; a new reference), or NULL. */
json_t *undo_client_unfinished(struct undo_client *client);

void undo_client_close(struct undo_client *client);

/* Send a request and wait for its answer. payload is taken. Returns a new
 * reference, or NULL and error; then *ret_data (may be NULL) is the error's
 * data (a new reference) or NULL. */
json_t *undo_client_ask(struct undo_client *client, const char *type,
                        json_t *payload, json_t **ret_data, GError **error);

#endif
