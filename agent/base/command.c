/* SPDX-License-Identifier: Apache-2.0
 *
 * command - see command.h.
 */
#include "agent/base/command.h"

struct command *command_new(const char *text)
{
    struct command *command = g_new0(struct command, 1);

    command->text = g_strdup(text);
    return command;
}

void command_free(struct command *command)
{
    if (!command)
        return;
    g_free(command->text);
    g_strfreev(command->argv);
    g_free(command->user);
    g_free(command->cwd);
    g_strfreev(command->env);
    g_bytes_unref(command->input);
    g_free(command->label);
    g_free(command);
}
