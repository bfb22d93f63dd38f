/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_place - the folder and the undo log that a command is about.
 */
#ifndef AGENT_CLI_CLI_PLACE_H
#define AGENT_CLI_CLI_PLACE_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* As given on the command line: owned, NULL if they were not. below: of
 * cli_lookup.h, where the caller is in dir, or NULL. */
struct cli_place {
    char *dir, *undo_dir, *below;
};

/* Their options' entries, as initialisers of an array of GOptionEntry. */
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

/* Open the log, make one request that looks, or "discard", close it. payload is
 * taken. NULL: error, and its data in *ret_data (which may be NULL), if there
 * is any. */
json_t *cli_place_ask(const struct cli_place *place, const char *type,
                      json_t *payload, json_t **ret_data, GError **error);

/* The same for a request that changes the folder; a step that did not end is
 * taken back before it. */
json_t *cli_place_change(const struct cli_place *place, const char *type,
                         json_t *payload, json_t **ret_data, GError **error);

/* "history", which has "open_step", too: the id of a step that is not over, or
 * null; and "unfinished": the report of one that did not end and is still to be
 * seen to, or null. */
json_t *cli_place_history(const struct cli_place *place, int limit,
                          GError **error);

/* The steps that "rollback", "redo" and "preview" cover. */
struct cli_extent {
    gint64 steps;
    gint64 step_id;     /* down to this step, in place of steps; 0: none */
    const char *counts; /* which steps do (doc/control-protocol.md) */
    bool force;
};

/* The payload of such a request. A new object. */
json_t *cli_place_extent(const struct cli_extent *extent);

/* "rollback" or "redo" likewise. What was interrupted, and opening the log has
 * finished, is the first of the steps: one that did not end and was taken back,
 * or a redo. */
json_t *cli_place_go(const struct cli_place *place, const char *type,
                     const struct cli_extent *extent, json_t **ret_data,
                     GError **error);

/* An undo log of a folder in dir, beside that: a new string, or NULL. Logs
 * further below are not looked for. */
char *cli_place_inside(const char *dir);

/* "stepback COMMAND" with the options that lead to this place, as it would be
 * typed. A new string. */
char *cli_place_command(const struct cli_place *place, const char *command);

/* A word as it would be typed. A new string. */
char *cli_place_quote(const char *word);

void cli_place_print_json(json_t *answer);

/* A warning on standard error, if it was not told before. */
void cli_place_warn(const char *text);

/* The same of each of these (of char *; NULL: none). */
void cli_place_warn_all(const GPtrArray *texts);

/* Tell that a request failed: with json as an object on stdout, "error" as in
 * the control protocol (data is borrowed and may be NULL), else for people,
 * with what helps. CLI_FAILED. */
int cli_place_failed(const struct cli_place *place, const GError *error,
                     json_t *data, bool json);

#endif
