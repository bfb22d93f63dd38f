/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_request - the options of "exec" and "shell", as a request exec.start.
 */
#ifndef AGENT_CLI_EXEC_REQUEST_H
#define AGENT_CLI_EXEC_REQUEST_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* The values of the options; clear with exec_request_clear(). */
struct exec_request {
    char **env;       /* NAME=VALUE or NAME */
    char **env_files; /* paths */
    char *workdir, *user, *label, *step;
    int timeout; /* seconds; 0: none */
    bool no_wait;
};

/* The options, for a GOptionGroup's or a command's table. */
#define EXEC_REQUEST_ENTRIES(request)                                          \
    { "env",                                                                   \
      'e',                                                                     \
      0,                                                                       \
      G_OPTION_ARG_FILENAME_ARRAY,                                             \
      &(request)->env,                                                         \
      "set a variable; NAME alone passes on its value here (repeatable)",      \
      "NAME[=VALUE]" },                                                        \
        { "env-file",                                                          \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_FILENAME_ARRAY,                                         \
          &(request)->env_files,                                               \
          "set variables from a file with lines NAME=VALUE (repeatable)",      \
          "FILE" },                                                            \
        { "workdir",                                                           \
          'w',                                                                 \
          0,                                                                   \
          G_OPTION_ARG_FILENAME,                                               \
          &(request)->workdir,                                                 \
          "run in this folder of the guest (default: the current one, if it "  \
          "is shared)",                                                        \
          "DIR" },                                                             \
        { "user",                                                              \
          'u',                                                                 \
          0,                                                                   \
          G_OPTION_ARG_STRING,                                                 \
          &(request)->user,                                                    \
          "run as this user of the guest, and group (default: root)",          \
          "USER[:GROUP]" },                                                    \
    {                                                                          \
        "step", 0, 0, G_OPTION_ARG_STRING, &(request)->step,                   \
            "\"one\": its changes are a step (default of exec); \"prompt\": "  \
            "each line of a login shell is a step (default of shell); "        \
            "\"none\": they belong to other steps (for servers)",              \
            "KIND"                                                             \
    }

/* Build the payload of exec.start without the program. info: the answer to
 * sandbox.info (borrowed), for the current directory. Returns NULL after it
 * printed an error in the options. */
json_t *exec_request_payload(const struct exec_request *request, json_t *info);

/* Translate a path of the host into the guest's: a new string, or NULL if no
 * folder of the sandbox contains it. info: the answer to sandbox.info. */
char *exec_request_guest_path(json_t *info, const char *path);

/* Set "argv" to words. */
void exec_request_set_argv(json_t *payload, char **words);

void exec_request_clear(struct exec_request *request);

#endif
