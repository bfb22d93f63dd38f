/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_defaults - the user's defaults for the options of machines:
 * $XDG_CONFIG_HOME/stepback/config.ini, group "defaults", and those of the
 * pool, group "pool".
 *
 * A key is an option's name. Options that lower a protection, and those of one
 * folder, are not among them. A file that another user can write is refused,
 * and so is one in a folder that the guest can write.
 */
#ifndef AGENT_CLI_CLI_DEFAULTS_H
#define AGENT_CLI_CLI_DEFAULTS_H

#include <glib.h>

#include "agent/cli/cli_machine.h"

/* A key, and where struct cli_machine keeps its value. */
struct cli_setting {
    const char *name; /* with "pool." before a key of that group */
    enum { SETTING_STRING, SETTING_FLAG, SETTING_LIST } kind;
    size_t offset;
    const char *builtin; /* what holds if it is set nowhere, for people */
};

/* The settings: a static array; its last element has no name. */
const struct cli_setting *cli_defaults_settings(void);

/* Return a setting's value in machine as text: a new string, or NULL if it is
 * not set there. */
char *cli_defaults_text(const struct cli_setting *setting,
                        const struct cli_machine *machine);

/* Return the file's path: a new string. */
char *cli_defaults_path(void);

/* Load the defaults; none if there is no file. On failure return NULL with
 * ERROR_INVALID_FIELD. Free with cli_machine_clear() and g_free(). */
struct cli_machine *cli_defaults_load(GError **error);

/* Refuse a file that this session's guest could write. ERROR_INVALID_DIRECTORY.
 */
gboolean cli_defaults_check_place(const struct session_config *config,
                                  GError **error);

#endif
