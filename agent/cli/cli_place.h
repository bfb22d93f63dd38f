/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_place - the folder and the undo log that a command works on.
 */
#ifndef AGENT_CLI_CLI_PLACE_H
#define AGENT_CLI_CLI_PLACE_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* The values as given on the command line: owned, NULL if not given. below: set
 * by cli_lookup.h to the caller's position within dir, or NULL. */
struct cli_place {
    char *dir, *undo_dir, *below;
};

/* The options as initialisers of a GOptionEntry array. */
#define CLI_PLACE_OPTIONS(place)                                               \
    { "directory",                                                             \
      'C',                                                                     \
      0,                                                                       \
      G_OPTION_ARG_FILENAME,                                                   \
      &(place)->dir,                                                           \
      "the working folder (default: the current one)",                         \
      "DIR" },                                                                 \
    {                                                                          \
        "undo-dir", 0, 0, G_OPTION_ARG_FILENAME, &(place)->undo_dir,           \
            "the folder that has its undo log", "DIR"                          \
    }

void cli_place_clear(struct cli_place *place);

/* Open the log, send one read-only request or "discard", close the log. payload
 * is taken. Returns NULL on failure, with error, and optional data in
 * *ret_data. */
json_t *cli_place_ask(const struct cli_place *place, const char *type,
                      json_t *payload, json_t **ret_data, GError **error);

/* The same for a request that changes the folder; an unfinished step is rolled
 * back first. */
json_t *cli_place_change(const struct cli_place *place, const char *type,
                         json_t *payload, json_t **ret_data, GError **error);

/* Request "history" and add "open_step": the id of the open step, or null; and
 * "unfinished": the report of a step that did not end and still needs a
 * decision, or null. */
json_t *cli_place_history(const struct cli_place *place, int limit,
                          GError **error);

/* The range of steps that "rollback", "redo" and "preview" cover. */
struct cli_extent {
    gint64 steps;
    gint64 step_id;     /* down to this step, instead of steps; 0: none */
    gint64 keep;        /* step_id is the next newer one (--to); 0: none */
    const char *counts; /* which steps count (doc/control-protocol.md) */
    bool force;
};

/* Build the payload of such a request. Returns a new object. */
json_t *cli_place_extent(const struct cli_extent *extent);

/* The same for "rollback" or "redo". If opening the log finished an interrupted
 * operation (rolled back an unfinished step, or completed a redo), that step
 * comes first in the list. */
json_t *cli_place_go(const struct cli_place *place, const char *type,
                     const struct cli_extent *extent, json_t **ret_data,
                     GError **error);

/* Find the undo log of a folder in dir, next to that folder. Returns a new
 * string, or NULL. Deeper folders are not searched. */
char *cli_place_inside(const char *dir);

/* Return "stepback COMMAND" with the options for this place, quoted for a
 * shell: a new string. */
char *cli_place_command(const struct cli_place *place, const char *command);

/* Quote a word for a shell. Returns a new string. */
char *cli_place_quote(const char *word);

/* The same for a command that a user is to copy from a message, which is one
 * printable line: other words become $'...'. */
char *cli_place_quote_to_print(const char *word);

void cli_place_print_json(json_t *answer);

/* The same on one line. */
void cli_place_print_json_line(json_t *object);

/* Print a warning on standard error, unless it was printed before. */
void cli_place_warn(const char *text);

/* The same for each of these (of char *; NULL: none). */
void cli_place_warn_all(const GPtrArray *texts);

/* Print the failure of a request: with json as an object on stdout, "error" as
 * in the control protocol (data is borrowed and may be NULL), otherwise as text
 * with the remedy. Returns CLI_FAILED. */
int cli_place_failed(const struct cli_place *place, const GError *error,
                     json_t *data, bool json);

#endif
