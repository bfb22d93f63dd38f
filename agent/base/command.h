/* SPDX-License-Identifier: Apache-2.0
 *
 * command - a command for the guest, and what it prints.
 *
 * The command line and the protocols make a command, a session runs it as one
 * step, and guest_channel.h writes it for the shim. Its strings are bytes: what
 * has another form for them (JSON) converts them where it reads or writes.
 */
#ifndef AGENT_BASE_COMMAND_H
#define AGENT_BASE_COMMAND_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

struct command {
    char *text;     /* a line for the guest's shell */
    char *cwd;      /* relative to the first working folder, or NULL for it */
    char **env;     /* NAME=VALUE, NULL at the end; or NULL. Names are UTF-8 */
    GBytes *input;  /* its standard input; NULL: it is empty */
    bool is_prompt; /* the session's agent_command, with a prompt as input */
    unsigned timeout_seconds; /* 0: none */
};

/* text is copied; the rest is empty. */
struct command *command_new(const char *text);
void command_free(struct command *command);

struct command_output {
    gint64 step_id; /* of the command */
    bool is_stderr; /* or it is stdout */
    const char *data;
    size_t len;
};

/* How a command ended. */
struct command_end {
    int exit_code;      /* 0..255 */
    int signal;         /* that ended it, or 0 */
    bool has_processes; /* some in the background may still run */
};

#endif
