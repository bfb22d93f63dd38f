/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_client - a folder's undo log, for the command line.
 *
 * If nobody owns the log, the engine is opened in this process and spoken to
 * over a socket pair; if a daemon does, over its control socket. So both ways
 * are the same protocol, and the same code follows.
 *
 * Threads: use it from the main thread. The engine has its own.
 */
#ifndef AGENT_CLIENT_UNDO_CLIENT_H
#define AGENT_CLIENT_UNDO_CLIENT_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

struct undo_client;

/* Called for the engine's events; payload (borrowed) is an object. */
typedef void (*undo_client_event)(const char *type, json_t *payload);

/* What happens to a step that did not end, if the log is opened here. */
enum undo_client_purpose {
    UNDO_CLIENT_CHANGE,  /* it is taken back */
    UNDO_CLIENT_INSIST,  /* it is taken back, or stays if it is another's */
    UNDO_CLIENT_LOOK,    /* it stays, and nothing can be changed */
    UNDO_CLIENT_DISCARD, /* it stays, to be given up */
};

/* dir: the folder. undo_dir: NULL for the default place. NULL and error;
 * ERROR_NOTHING_TO_UNDO if there is no log.
 */
struct undo_client *undo_client_open(const char *dir, const char *undo_dir,
                                     enum undo_client_purpose purpose,
                                     undo_client_event event, GError **error);
/* The report of the step that opening the log here has just taken back: a new
 * reference. NULL: there was none. */
json_t *undo_client_recovered(struct undo_client *client);

/* The report of the step whose interrupted redo opening the log here has just
 * finished: a new reference. NULL: there was none. */
json_t *undo_client_redone(struct undo_client *client);

/* The report of a step that did not end, and that opening the log left as it is
 * (UNDO_CLIENT_LOOK, _DISCARD): a new reference. NULL: there is none. */
json_t *undo_client_unfinished(struct undo_client *client);

void undo_client_close(struct undo_client *client);

/* Make a request and wait for its answer. payload is taken. A new reference;
 * NULL and error, and then *ret_data (may be NULL) is the error's data, a new
 * reference, or NULL. */
json_t *undo_client_ask(struct undo_client *client, const char *type,
                        json_t *payload, json_t **ret_data, GError **error);

#endif
