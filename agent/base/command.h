/* SPDX-License-Identifier: Apache-2.0
 *
 * command - a guest command and its output.
 *
 * The command line and the protocols create a command, a session runs it as one
 * step, and guest_channel.h encodes it for the shim. The strings are bytes:
 * code with another representation (JSON) converts at its edge.
 */
#ifndef AGENT_BASE_COMMAND_H
#define AGENT_BASE_COMMAND_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/* The steps of an execution. */
enum command_step {
    COMMAND_ONE_STEP,     /* all it does is one step */
    COMMAND_PROMPT_STEPS, /* a login shell: each line is a step */
    COMMAND_NO_STEP, /* what it writes belongs to the open or an ambient step */
};

struct command {
    char *text;     /* a line for the guest's shell; with argv or a login: the
                       description in the history */
    char **argv;    /* run this program with these arguments; NULL: text */
    bool is_login;  /* run the user's login shell instead */
    char *user;     /* "name", "uid", or either with ":group"; NULL: root */
    char *cwd;      /* relative to the first working folder; NULL: that one */
    char **env;     /* NAME=VALUE, NULL-terminated, or NULL; names are UTF-8 */
    GBytes *input;  /* the whole standard input; NULL: empty */
    bool is_prompt; /* run the session's agent_command with a prompt as input */
    bool streams_input;     /* standard input arrives while it runs */
    unsigned rows, columns; /* of its terminal; 0: it has none */
    enum command_step step;
    unsigned timeout_seconds; /* 0: no limit */
    char *label;              /* the caller's name for the execution, or NULL */
    const void
        *owner; /* identifies the party that started it; NULL: no party */
};

/* Create a command with a copy of text; all other members are empty. */
struct command *command_new(const char *text);
void command_free(struct command *command);

/* Return the variables of both lists (each may be NULL); those of over replace
 * those of under with the same name. A new list, or NULL if both are. */
char **command_merge_env(char *const *under, char *const *over);

struct command_output {
    gint64 exec_id;
    gint64 step_id; /* of the command, or 0 */
    bool is_stderr; /* false: stdout */
    const char *data;
    size_t len;
};

/* The end of a command. */
struct command_end {
    int exit_code;      /* 0..255; -1: unknown */
    int signal;         /* the signal that ended it, or 0 */
    bool has_processes; /* background processes may still run */
    int oom_kills;      /* processes of the sandbox that the kernel killed
                           meanwhile because its memory was used up */
};

#endif
