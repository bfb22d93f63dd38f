/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_request - the options of "exec" and "shell", as a request exec.start.
 */
#ifndef AGENT_CLI_EXEC_REQUEST_H
#define AGENT_CLI_EXEC_REQUEST_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/cli/cli_guest.h"
#include "agent/client/control_link.h"

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
    CLI_GUEST_EXECUTION_OPTIONS(request, "the current one, if it is shared"),  \
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

/* Add variables, folder and user to a payload of exec.start; workdir may be
 * NULL. Return false after it printed an error. */
bool exec_request_add_guest(json_t *payload, const struct cli_guest *guest,
                            json_t *info);

/* Set "cwd" to a folder of the host, if it is shared, and unless the sandbox
 * was started with a folder for its executions. */
void exec_request_add_here(json_t *payload, const char *dir, json_t *info);

/* Translate a path of the host into the guest's: a new string, or NULL if no
 * folder of the sandbox contains it. info: the answer to sandbox.info. */
char *exec_request_guest_path(json_t *info, const char *path);

/* Set "argv" to words. */
void exec_request_set_argv(json_t *payload, char **words);

void exec_request_clear(struct exec_request *request);

/* Subscribe to the events of the sandbox that a client prints: warnings, and
 * what waits for a decision (also with warnings). Waits for the answer. */
gboolean exec_request_subscribe(struct control_link *link, bool warnings,
                                bool approvals, GError **error);

#endif
