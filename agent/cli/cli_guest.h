/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_guest - the options for what commands in the guest find there: variables,
 * folder, user, git identity, certificates.
 */
#ifndef AGENT_CLI_CLI_GUEST_H
#define AGENT_CLI_CLI_GUEST_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/machine/session_config.h"

/* The values as given: owned, NULL if not given. */
struct cli_guest {
    char **env, **env_files;
    char *workdir, *user;
    char *git_identity;  /* host, none, or NAME <ADDRESS> */
    char **certificates; /* files; "none" leaves out the host's */
    char **secrets;      /* NAME=SOURCE@HOSTS */
};

#define CLI_GUEST_HOST "host"
#define CLI_GUEST_NONE "none"

/* -e, --env-file, -w and -u, as initialisers of a GOptionEntry array. options:
 * a struct with the members env, env_files, workdir and user. where: the
 * default of -w. */
#define CLI_GUEST_EXECUTION_OPTIONS(options, where)                            \
    { "env",                                                                   \
      'e',                                                                     \
      0,                                                                       \
      G_OPTION_ARG_FILENAME_ARRAY,                                             \
      &(options)->env,                                                         \
      "set a variable; NAME alone passes on its value here (repeatable)",      \
      "NAME[=VALUE]" },                                                        \
        { "env-file",                                                          \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_FILENAME_ARRAY,                                         \
          &(options)->env_files,                                               \
          "set variables from a file with lines NAME=VALUE (repeatable)",      \
          "FILE" },                                                            \
        { "workdir",                                                           \
          'w',                                                                 \
          0,                                                                   \
          G_OPTION_ARG_FILENAME,                                               \
          &(options)->workdir,                                                 \
          "run in this folder of the guest (default: " where ")",              \
          "DIR" },                                                             \
    {                                                                          \
        "user", 'u', 0, G_OPTION_ARG_STRING, &(options)->user,                 \
            "run as this user of the guest, and group (default: root; in "     \
            "local isolation: you)",                                           \
            "USER[:GROUP]"                                                     \
    }

#define CLI_GUEST_OPTIONS(guest)                                               \
    CLI_GUEST_EXECUTION_OPTIONS(guest, "the working folder"),                  \
        { "git-identity",                                                      \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_STRING,                                                 \
          &(guest)->git_identity,                                              \
          "who commits in the guest: host (default: that of your own git "     \
          "configuration), none, or \"NAME <ADDRESS>\"",                       \
          "IDENTITY" },                                                        \
        { "secret",                                                            \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_STRING_ARRAY,                                           \
          &(guest)->secrets,                                                   \
          "put a value into requests to these hosts; SOURCE: env:VARIABLE, "   \
          "file:FILE, command:LINE; the guest has a placeholder (repeatable)", \
          "NAME=SOURCE@HOST[,HOST]" },                                         \
    {                                                                          \
        "ca-certificates", 0, 0, G_OPTION_ARG_FILENAME_ARRAY,                  \
            &(guest)->certificates,                                            \
            "trust the certificates in this file, beside those added to this " \
            "host; none: not the host's (repeatable)",                         \
            "FILE"                                                             \
    }

void cli_guest_clear(struct cli_guest *guest);

/* Return what is wrong with an option, a static string, and set *ret_option to
 * its name; NULL: nothing. */
const char *cli_guest_problem(const struct cli_guest *guest,
                              const char **ret_option);

/* Add the options of executions to config, over those that it has. config has
 * its folders. */
gboolean cli_guest_apply(const struct cli_guest *guest,
                         struct session_config *config, GError **error);

/* Set the identity and the certificates, by the option or else by the
 * defaults. config has its folders. */
gboolean cli_guest_add_host(const struct cli_guest *guest,
                            const struct cli_guest *defaults,
                            struct session_config *config, GError **error);

/* Return the first option that a running session does not have, or NULL.
 * Static. executions: the options of executions count, too. */
const char *cli_guest_conflict(const struct cli_guest *guest, json_t *session,
                               bool executions);

#endif
